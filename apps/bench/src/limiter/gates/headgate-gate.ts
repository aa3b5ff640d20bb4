import { admission, agedSnapshots, type BudgetSnapshot, credentialPool, creditPool, type Journal, rateBudget } from '@headgate/throttle';
import type { Gate, GateFactory, GateOptions } from '../gate.ts';

/** Items reserved for a page. The number doesn't matter, because the credit pool has no limit. */
const ITEMS = 5_000;
/** The slowest simulated response, ms. It is twice Headgate's default of `maxDelayMs`. */
const MAX_DELAY_MS = 10_000;
const LEASE_MS = 1_000;

/** Headgate's admission, credential pool and budget, with a journal that survives the process. */
export const headgateGate: GateFactory = (options) => openGate(options, memoryJournal(options));

export const forgetfulHeadgateGate: GateFactory = (options) => openGate(options, undefined);

function openGate({ limit, windowMs, clock }: GateOptions, journal: Journal | undefined): Gate {
  const lease = journal === undefined ? {} : { leaseMs: () => journal.leaseMs };
  const budget = rateBudget({ limit, windowMs, clock, maxDelayMs: MAX_DELAY_MS, ...lease });
  const entry = journal?.open('app', () => [budget.snapshot()]);
  for (const snapshot of entry?.restored ?? []) budget.restore(snapshot);
  const pool = credentialPool({ members: [{ name: 'app', budgets: [budget], ...(entry !== undefined && { journal: entry }) }], clock });
  const credits = creditPool({ max: Infinity });
  const door = admission({ pool, clock });
  return {
    async pass(send) {
      const permit = await door.acquire({ credits, items: ITEMS });
      permit.sent();
      const answer = await send();
      const { accepted, remaining, resetInMs } = answer;
      permit.answered([remaining === undefined ? undefined : { remaining, resetInMs, refused: !accepted }]);
      permit.credit.release();
      return answer;
    },
    hold(forMs) {
      budget.holdUntil(clock.monotonicMs() + forMs);
      door.wake();
    },
  };
}

interface Written {
  readonly snapshots: readonly BudgetSnapshot[];
  readonly atMs: number;
}

/** A journal that makes each permit durable immediately. A restart finds the snapshots in `options.store`. */
function memoryJournal({ store, clock }: GateOptions): Journal {
  const written = store as { current?: Written };
  return {
    leaseMs: LEASE_MS,
    open(_, snapshots) {
      const write = (): void => {
        written.current = { snapshots: snapshots(), atMs: clock.epochMs() };
      };
      return {
        restored: written.current && agedSnapshots(written.current.snapshots, clock.epochMs() - written.current.atMs),
        granted() {
          write();
          return Promise.resolve();
        },
        settled: () => undefined,
        flush: write,
      };
    },
  };
}
