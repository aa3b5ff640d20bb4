import { type Clock, type JournalEntry, rateBudget, type Slot } from '@headgate/throttle';
import { virtualClock } from '@headgate/throttle/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { laneJournal } from './lane-journal.ts';
import type { StateChange } from './lane.ts';
import { laneState } from './lane-state.ts';

const WINDOW_MS = 60_000;
/** Maximum time from sending a request until the service counts it: the default of a budget. */
const DELAY_MS = 5_000;

interface Sent {
  weight: number;
  readonly atMs: number;
  answeredAtMs: number | undefined;
}

/** A credential whose process can die at any moment of a transaction, and all requests that it has sent, on the wall clock. */
class DyingCredential {
  readonly sent: Sent[] = [];
  /** Grants that were sent without waiting for a transaction. */
  atOnce = 0;
  readonly #limit: number;
  readonly #machine = virtualClock();
  /** Time for which the machine was suspended, so that its monotonic clock stood, ms. */
  #suspendedMs = 0;
  /** Time by which the process's wall clock was set back, ms. */
  #setBackMs = 0;
  readonly #clock: Clock;
  /** The state in the log. */
  #log = new Map<string, { readonly value: string; readonly atMs: number }>();
  #process: ReturnType<DyingCredential['start']>;

  constructor(limit: number) {
    this.#limit = limit;
    this.#clock = {
      ...this.#machine,
      monotonicMs: () => this.#machine.monotonicMs() - this.#suspendedMs,
      epochMs: () => this.#machine.epochMs() - this.#setBackMs,
    };
    this.#process = this.start();
  }

  get used(): number {
    return this.#process.budget.used;
  }

  /** The last moments at which the service may count a request in its window, epoch ms. */
  get ends(): readonly number[] {
    const ends = this.sent.map(({ atMs, answeredAtMs = Infinity }) => Math.min(answeredAtMs, atMs + DELAY_MS) + WINDOW_MS - 1);
    return ends.filter((endMs) => endMs > this.#machine.epochMs()).toSorted((one, other) => one - other);
  }

  get nowMs(): number {
    return this.#machine.epochMs();
  }

  /** Weight that the service can still count in its window. */
  get least(): number {
    return this.#weight(
      ({ atMs, answeredAtMs = Infinity }) => Math.min(answeredAtMs, atMs + DELAY_MS) + WINDOW_MS > this.#machine.epochMs(),
    );
  }

  start() {
    const entries = [...this.#log];
    const openedMs = this.#machine.epochMs();
    const ages = new Map(entries.map(([key, { atMs }]) => [key, openedMs - atMs]));
    const values = new Map(entries.map(([key, { value }]) => [key, value]));
    const { prefix, under } = laneState('g', Object.assign(values, { ageMs: (key: string) => ages.get(key) ?? 0 }));
    let changes: () => readonly StateChange[] = () => [];
    let durable: () => void = () => undefined;
    /** What waits for the next transaction, and for the one on its way. */
    let waiting: (() => void)[] = [];
    let onItsWay: { readonly rows: readonly StateChange[]; readonly tell: readonly (() => void)[]; isIn: boolean } | undefined;
    const lane = { slowestCommitMs: 0 };
    const journal = laneJournal(
      Object.assign(lane, {
        partition: 0,
        stateUnder: under,
        beforeCommit(more: () => readonly StateChange[], then: () => void = () => undefined) {
          changes = more;
          durable = then;
        },
        commit: () => new Promise<void>((resolve) => void waiting.push(resolve)),
      }),
      this.#clock,
      [],
      1,
      true,
    );
    const budget = rateBudget({ limit: this.#limit, windowMs: WINDOW_MS, leaseMs: () => journal.leaseMs, clock: this.#clock });
    const entry: JournalEntry = journal.open('app', (ahead) => [{ name: 'rate', ...budget.snapshot(ahead) }], this.#limit);
    for (const snapshot of entry.restored ?? []) budget.restore(snapshot);
    const inFlight: { readonly slot: Slot; readonly request: Sent }[] = [];
    let isDead = false;
    return {
      lane,
      budget,
      async grant(weight: number, isSent: boolean): Promise<void> {
        if (budget.freeAt(weight) > this.now()) return;
        const slot = budget.take(weight);
        let waits = false;
        const granted = entry.granted(weight).then(() => {
          if (isDead) return;
          if (!isSent || !slot.sent()) {
            slot.aborted();
            entry.settled();
            return;
          }
          if (!waits) this.atOnce();
          inFlight.push({ slot, request: this.send(weight) });
        });
        await Promise.race([granted, new Promise(setImmediate)]);
        waits = true;
      },
      /** Answers the oldest request. The response may show that it costs more than it was granted. */
      answer(more: number): void {
        const first = inFlight.shift();
        if (first === undefined) return;
        const { slot, request } = first;
        this.answered(request);
        slot.answered();
        entry.settled();
        if (more === 0) return;
        request.weight += more;
        slot.corrected(request.weight);
        entry.settled(request.weight);
      },
      /** Takes the next step of a transaction: it begins, is in the log, and the process learns of it. */
      step(): void {
        if (onItsWay === undefined) {
          onItsWay = { rows: changes(), tell: waiting, isIn: false };
          waiting = [];
        } else if (!onItsWay.isIn) {
          for (const [key, value] of onItsWay.rows) this.write(prefix + key, JSON.stringify(value));
          onItsWay.isIn = true;
        } else {
          durable();
          for (const tell of onItsWay.tell) tell();
          onItsWay = undefined;
        }
      },
      die: (): void => void (isDead = true),
      now: () => this.#clock.monotonicMs(),
      atOnce: () => void (this.atOnce += 1),
      send: (weight: number): Sent => {
        const request: Sent = { weight, atMs: this.#machine.epochMs(), answeredAtMs: undefined };
        this.sent.push(request);
        return request;
      },
      answered: (request: Sent) => void (request.answeredAtMs = this.#machine.epochMs()),
      write: (key: string, value: string) => void this.#log.set(key, { value, atMs: this.#machine.epochMs() }),
    };
  }

  async take(step: Step): Promise<void> {
    switch (step.kind) {
      case 'grant':
        await this.#process.grant(step.weight, step.isSent);
        break;
      case 'answer':
        this.#process.answer(step.more ?? 0);
        break;
      case 'step':
        this.#process.step();
        break;
      case 'wait':
        await this.#machine.advance(step.ms);
        break;
      case 'set back':
        this.#setBackMs += step.ms;
        break;
      case 'slow':
        this.#process.lane.slowestCommitMs = step.ms;
        break;
      case 'suspend':
        this.#suspendedMs += step.ms;
        await this.#machine.advance(step.ms);
        break;
      case 'kill':
        this.#process.die();
        this.#process = this.start();
        break;
    }
    await new Promise(setImmediate);
  }

  #weight(counts: (request: Sent) => boolean): number {
    return this.sent.filter(counts).reduce((sum, { weight }) => sum + weight, 0);
  }
}

type Step =
  | { readonly kind: 'grant'; readonly weight: number; readonly isSent: boolean }
  | { readonly kind: 'answer'; readonly more?: number }
  | { readonly kind: 'step' | 'kill' }
  | { readonly kind: 'wait' | 'suspend' | 'set back' | 'slow'; readonly ms: number };

const GRANT: Step = { kind: 'grant', weight: 1, isSent: true };
const STEP: Step = { kind: 'step' };
const ANSWER: Step = { kind: 'answer' };
const KILL: Step = { kind: 'kill' };
const TRANSACTION = [STEP, STEP, STEP];

const one = (arbitrary: fc.Arbitrary<Step>) => arbitrary.map((step) => [step]);
const ms = (max: number) => fc.integer({ min: 1, max });
const weight = fc.integer({ min: 1, max: 3 });
const STEPS: fc.Arbitrary<readonly Step[]> = fc.oneof(
  { weight: 8, arbitrary: one(fc.record({ kind: fc.constant('grant'), weight, isSent: fc.constant(true) })) },
  { weight: 1, arbitrary: fc.constant([{ ...GRANT, isSent: false }]) },
  { weight: 4, arbitrary: fc.constant([ANSWER]) },
  { weight: 4, arbitrary: fc.constant([STEP]) },
  { weight: 4, arbitrary: fc.constant([GRANT, ...TRANSACTION]) },
  { weight: 1, arbitrary: fc.constant([KILL]) },
  { weight: 2, arbitrary: one(fc.record({ kind: fc.constant('wait'), ms: ms(1_500) })) },
  { weight: 1, arbitrary: one(fc.record({ kind: fc.constant('slow'), ms: ms(5_000) })) },
  { weight: 1, arbitrary: one(fc.record({ kind: fc.constantFrom('wait', 'suspend'), ms: ms(2 * WINDOW_MS) })) },
);

test('whenever a process dies, the next one counts each request that was sent', async () => {
  let atOnce = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(STEPS, { minLength: 10, maxLength: 60 }), async (steps) => {
      const credential = new DyingCredential(800);
      for (const step of [...steps.flat(), KILL]) {
        await credential.take(step);
        expect(credential.used).toBeGreaterThanOrEqual(credential.least);
      }
      for (const endMs of credential.ends) {
        await credential.take({ kind: 'wait', ms: endMs - credential.nowMs });
        expect(credential.used).toBeGreaterThanOrEqual(credential.least);
      }
      atOnce += credential.atOnce;
    }),
    { numRuns: 500 },
  );
  expect(atOnce).toBeGreaterThan(500);
});

test.for([
  { limit: 15, ahead: 0 },
  { limit: 499, ahead: 0 },
  { limit: 500, ahead: 5 },
  { limit: 100_000, ahead: 16 },
])('at a limit of $limit, a transaction with a grant allows $ahead more', async ({ limit, ahead }) => {
  const credential = new DyingCredential(limit);
  for (const step of [GRANT, ...TRANSACTION]) await credential.take(step);
  expect(credential.sent).toHaveLength(1);
  for (let more = 0; more < 20; more += 1) await credential.take(GRANT);
  expect(credential.sent).toHaveLength(1 + ahead);
  // The others are sent with the next transaction, as far as the budget permits.
  for (const step of TRANSACTION) await credential.take(step);
  expect(credential.sent).toHaveLength(Math.min(21, limit));
});

test('grants ahead that were not taken count after a kill, and not after a stop', async () => {
  for (const [how, last, used] of [
    ['kill', [], 2 + 8],
    // A lane that is closed writes its last changes.
    ['stop', TRANSACTION, 2],
  ] as const) {
    const credential = new DyingCredential(800);
    const steps = [GRANT, ...TRANSACTION, GRANT, ANSWER, ANSWER, ...TRANSACTION, ...last, KILL];
    for (const step of steps) await credential.take(step);
    expect([how, credential.sent.length, credential.used]).toEqual([how, 2, used]);
  }
});

test('grants ahead expire, whichever clock shows it', async () => {
  for (const kind of ['wait', 'suspend'] as const) {
    const credential = new DyingCredential(800);
    for (const step of [GRANT, ...TRANSACTION, { kind, ms: 1_001 }, GRANT]) await credential.take(step);
    expect(credential.sent).toHaveLength(1);
    for (const step of [...TRANSACTION, { kind, ms: 900 }, GRANT]) await credential.take(step);
    expect(credential.sent).toHaveLength(3);
  }
});

test('a transaction on its way takes back grants ahead that it no longer has', async () => {
  const credential = new DyingCredential(800);
  for (const step of [GRANT, ...TRANSACTION, ANSWER, STEP, GRANT]) await credential.take(step);
  // The transaction on its way was made without a new grant, so it has none ahead.
  expect(credential.sent).toHaveLength(1);
  for (const step of [STEP, STEP, ...TRANSACTION]) await credential.take(step);
  expect(credential.sent).toHaveLength(2);
});

test.for(['suspend', 'set back'] as const)('a transaction with a shorter lease shortens the one before, after a %s', async (kind) => {
  const credential = new DyingCredential(800);
  const slow = (commitMs: number): Step => ({ kind: 'slow', ms: commitMs });
  for (const step of [slow(10_000), GRANT, ...TRANSACTION, slow(0), GRANT, STEP]) await credential.take(step);
  expect(credential.sent).toHaveLength(2);
  for (const step of [{ kind, ms: 1_500 }, { kind: 'wait', ms: kind === 'suspend' ? 0 : 1_500 }, GRANT] as const)
    await credential.take(step);
  expect(credential.sent).toHaveLength(2);
});

test('a cost that only a response shows uses up grants ahead', async () => {
  const credential = new DyingCredential(800);
  for (const step of [GRANT, ...TRANSACTION, GRANT, { kind: 'answer', more: 4 }, { kind: 'answer', more: 2 }] as const)
    await credential.take(step);
  expect(credential.sent).toHaveLength(2);
  await credential.take(GRANT);
  expect(credential.sent).toHaveLength(2);
  await credential.take(KILL);
  // The log has one request with its first cost, and the 8 ahead.
  expect([credential.used, credential.least]).toEqual([9, 1 + 4 + 1 + 2]);
});
