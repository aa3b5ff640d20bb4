import { bearer } from '@headgate/auth';
import { agedSnapshots, type BudgetSnapshot, type Clock, type Journal } from '@headgate/throttle';
import { virtualClock } from '@headgate/throttle/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Limit, Quota } from '../source-options.ts';
import { openRows } from './rows.ts';
import { SharedLimits } from './shared-limits.ts';
import { SourceCredential } from './source-credential.ts';

type Name = 'a' | 'b';
const NAMES: readonly Name[] = ['a', 'b'];
const WINDOW_MS = 600_000;
const DAY_MS = 86_400_000;
const REQUESTS = 1_000;
const rate = { requests: REQUESTS, windowMs: WINDOW_MS };
const daily = { requests: REQUESTS, per: 'day' } as const;
/** The rules that a limit has, one after another. */
const rules: readonly (Limit | Quota)[] = [rate, { ...rate, windowMs: 6 * WINDOW_MS }, { ...rate, windowMs: DAY_MS }, daily];
/** Maximum error of a slot's end: the guard of its window, the lease of a request in flight, and rounding. */
const SLACK_MS = 2_000;

/** A journal in memory, from which each process continues. A process that ends leaves what it has written. */
function memoryJournal(clock: Clock) {
  const written = new Map<string, { readonly value: readonly BudgetSnapshot[]; readonly atMs: number }>();
  return (): Journal => {
    const open = new Map<string, () => readonly BudgetSnapshot[]>();
    const changed = new Set<string>();
    const granted = async (name: string): Promise<void> => {
      for (const one of changed.add(name)) written.set(one, { value: open.get(one)?.() ?? [], atMs: clock.monotonicMs() });
      changed.clear();
      await Promise.resolve();
    };
    return {
      leaseMs: 1_000,
      open(name, snapshots) {
        open.set(name, snapshots);
        const found = written.get(name);
        return {
          restored: found && agedSnapshots(found.value, clock.monotonicMs() - found.atMs),
          granted: async () => await granted(name),
          settled: () => void changed.add(name),
          flush: () => void granted(name),
        };
      },
    };
  };
}

interface Sent {
  readonly by: Name;
  readonly atMs: number;
  /** True if the credential shared the limit when this request or a later one of its source was sent. */
  isShared: boolean;
}

interface Start {
  /** The limit, shared or not. Default: `rate`. */
  readonly rule?: Limit | Quota;
  /** Whether there is another limit over both credentials. */
  readonly isOtherShared: boolean;
  /** The credentials of the source. */
  readonly names: readonly Name[];
  /** The credentials that share the limit. Each other credential has its own. */
  readonly sharing: readonly Name[];
}

/** A source that is started again and again with other limits, and all requests that it has sent. */
function restartedSource() {
  const clock = virtualClock();
  const journal = memoryJournal(clock);
  const all: Sent[] = [];
  const start = ({ rule = rate, isOtherShared, names, sharing }: Start) => {
    const isShared = (name: Name) => names.includes(name) && sharing.includes(name);
    const limit = { ...rule, shared: names.some(isShared) };
    const budgets = { rate: limit, ...(isOtherShared && { other: { ...rate, shared: true } }) };
    const opened = journal();
    const options = { maxDelayMs: 0, clock, leaseMs: () => opened.leaseMs };
    const shared = new SharedLimits(budgets, options);
    const open = (name: Name) => {
      const credential = { name, signer: bearer('token'), ...(limit.shared && !isShared(name) && { budgets: { rate: rule } }) };
      return new SourceCredential(credential, budgets, shared, options);
    };
    const credentials = new Map(names.map((name) => [name, open(name)]));
    const { entries } = openRows(opened, 'toy', clock, [...credentials.values()], shared.all);
    for (const [name, one] of credentials) one.journal = entries.get(name);
    const ofAll = (one: Sent) => one.isShared || isShared(one.by);
    const least = (name: Name) => (isShared(name) ? ofAll : ({ by }: Sent) => by === name);
    const count = (counts: (one: Sent) => boolean, ms: number) =>
      all.filter((one) => counts(one) && one.atMs > clock.monotonicMs() - ms).length;
    return {
      /** Returns the credentials that may send more than their limit, by the rule that applies now. */
      overLimit: () =>
        names.filter((name) => {
          const sinceMs = 'windowMs' in rule ? rule.windowMs : clock.epochMs() % DAY_MS;
          const used = count(least(name), sinceMs);
          const freeAt = credentials.get(name)?.budgets[0]?.freeAt(Math.min(REQUESTS, REQUESTS - used + 1)) ?? -Infinity;
          return used > 0 && freeAt <= clock.monotonicMs();
        }),
      /**
       * Returns what each credential's limit counts, and what it may count. A shared limit counts all of its requests, and each exactly once.
       * A limit of a credential counts the credential's requests, and maybe other ones that were sent while it was shared, because the
       * journal doesn't say whose these were.
       */
      counted: () =>
        Array.from(credentials, ([name, { budgets: of }]) => {
          const most = isShared(name) ? ofAll : ({ by, isShared: wasShared }: Sent) => wasShared || by === name;
          return { used: of[0]?.used, least: count(least(name), WINDOW_MS), most: count(most, WINDOW_MS + SLACK_MS) };
        }),
      async send(by: Name, isAnswered = true) {
        const credential = credentials.get(by);
        // After a change of its rule, a budget may wait for requests that the journal no longer lists.
        if (credential === undefined || credential.budgets.some((budget) => budget.freeAt() > clock.monotonicMs())) return;
        const slots = credential.budgets.map((budget) => budget.take());
        await credential.journal?.granted();
        all.push({ by, atMs: clock.monotonicMs(), isShared: false });
        // The first write of a source with a shared limit moves what its credentials have sent before.
        for (const one of all) one.isShared ||= isShared(one.by);
        for (const slot of slots) slot.sent();
        if (!isAnswered) return;
        for (const slot of slots) slot.answered();
        credential.journal?.settled();
      },
    };
  };
  return { clock, start };
}

const send = fc.record({ kind: fc.constant('send' as const), by: fc.constantFrom(...NAMES) });
const wait = fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: WINDOW_MS }) });
const restart = fc.record({
  kind: fc.constant('restart' as const),
  isOtherShared: fc.boolean(),
  names: fc.subarray([...NAMES], { minLength: 1 }),
  sharing: fc.subarray([...NAMES]),
  inFlight: fc.option(fc.constantFrom(...NAMES)),
});
const restartByRule = fc.tuple(restart, fc.constantFrom(...rules)).map(([one, rule]) => ({ ...one, rule }));
const started = (sharing: Name[], isOtherShared = false) => ({
  kind: 'restart' as const,
  isOtherShared,
  names: [...NAMES],
  sharing,
  inFlight: null,
});
const startedBy = (rule: Limit | Quota, sharing: Name[]) => ({ ...started(sharing), rule });
const sent = (by: Name) => ({ kind: 'send' as const, by });
const waited = (ms: number) => ({ kind: 'wait' as const, ms });

describe('a limit that becomes shared, or no longer is', () => {
  test('counts each request of its window once, however often it changes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(send, send, wait, restart), { maxLength: 30 }), async (steps) => {
        const { clock, start } = restartedSource();
        let source = start(started([]));
        for (const step of steps) {
          if (step.kind === 'send') await source.send(step.by);
          else if (step.kind === 'wait') await clock.advance(step.ms);
          else {
            if (step.inFlight !== null) await source.send(step.inFlight, false);
            source = start(step);
          }
          for (const { used, least, most } of source.counted()) {
            expect(used).toBeGreaterThanOrEqual(least);
            expect(used).toBeLessThanOrEqual(most);
          }
        }
      }),
      {
        examples: [
          // Shared, its own, and shared again, in one window.
          [[started(['a', 'b']), sent('a'), sent('b'), started([]), sent('a'), started(['a', 'b'])]],
          // While another limit is shared, the entry of shared limits is written again, without those that no longer are.
          [[started(['a', 'b']), sent('b'), started([], true), sent('a'), started([])]],
        ],
      },
    );
  });

  test('is never exceeded, whichever windows and resets it has had', async () => {
    const idle = fc.oneof(wait, fc.integer({ min: 1, max: DAY_MS }).map(waited));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(send, send, idle, restartByRule), { maxLength: 30 }), async (steps) => {
        const { clock, start } = restartedSource();
        let source = start(started([]));
        for (const step of steps) {
          if (step.kind === 'send') await source.send(step.by);
          else if (step.kind === 'wait') await clock.advance(step.ms);
          else {
            if (step.inFlight !== null) await source.send(step.inFlight, false);
            source = start(step);
          }
          expect(source.overLimit()).toEqual([]);
        }
      }),
      {
        // A credential's own longer window still counts what was sent in the shared one.
        examples: rules
          .slice(1)
          .map((own) => [
            startedBy(rate, ['a', 'b']),
            sent('a'),
            startedBy(own, []),
            sent('a'),
            waited(WINDOW_MS + SLACK_MS),
            sent('a'),
            startedBy(own, []),
          ])
          .map((steps): [typeof steps] => [steps]),
      },
    );
  });
});
