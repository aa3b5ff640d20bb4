import { type BudgetSnapshot, type Journal, rateBudget } from '@headgate/throttle';
import { type VirtualClock, virtualClock } from '@headgate/throttle/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inheritedBudgets, laneJournal, journalRecords } from './lane-journal.ts';
import type { StateChange } from './lane.ts';
import { laneState } from './lane-state.ts';

const LANES = 3;
const WINDOW_MS = 60_000;
/** Maximum error of a slot's end: the guard of its window, the lease and the delay of a request in flight, and rounding. */
const SLACK_MS = 10_000;

interface Sent {
  readonly at: number;
  readonly weight: number;
  answeredAt: number | undefined;
}

/** The state partitions of a pipeline in memory. */
function partitions(clock: VirtualClock) {
  const states = Array.from({ length: LANES }, () => new Map<string, { readonly value: string; readonly at: number }>());
  const read = (partition: number) => {
    const entries = [...(states[partition] ?? [])];
    const ages = new Map(entries.map(([key, { at }]) => [key, clock.monotonicMs() - at]));
    const values = new Map(entries.map(([key, { value }]) => [key, value]));
    return laneState('g', Object.assign(values, { ageMs: (key: string) => ages.get(key) ?? 0 }));
  };
  const lane = (partition: number) => {
    const { prefix, under } = read(partition);
    let changes: () => readonly StateChange[] = () => [];
    return {
      partition,
      slowestCommitMs: 0,
      stateUnder: under,
      beforeCommit: (more: () => readonly StateChange[]) => void (changes = more),
      async commit() {
        for (const [key, value] of changes())
          states[partition]?.set(prefix + key, { value: JSON.stringify(value), at: clock.monotonicMs() });
        await Promise.resolve();
      },
    };
  };
  const journals = async (_: string, partition: number) => await Promise.resolve(journalRecords(read(partition).under));
  return { lane, journals };
}

/** A credential whose lane changes, and all requests that it has sent. */
function movingCredential() {
  const clock = virtualClock();
  const { lane, journals } = partitions(clock);
  const sent: Sent[] = [];
  const weight = (counts: (request: Sent) => boolean): number => sent.filter(counts).reduce((sum, request) => sum + request.weight, 0);

  const open = async (partition: number, windowMs = WINDOW_MS) => {
    const held = lane(partition);
    const inherited = await inheritedBudgets(journals, 'state', partition, LANES);
    const budget = rateBudget({ limit: 1_000, windowMs, clock });
    const journal: Journal = laneJournal(held, clock, inherited, LANES);
    const entry = journal.open('app', (): readonly BudgetSnapshot[] => [{ name: 'rate', ...budget.snapshot() }]);
    for (const snapshot of entry.restored ?? []) budget.restore(snapshot);
    return {
      budget,
      async send(units: number, ending: 'answered' | 'in flight' = 'answered') {
        const slot = budget.take(units);
        await entry.granted();
        const request: Sent = { at: clock.monotonicMs(), weight: units, answeredAt: undefined };
        sent.push(request);
        slot.sent();
        await clock.advance(100);
        if (ending === 'in flight') return;
        request.answeredAt = clock.monotonicMs();
        slot.answered();
        entry.settled();
      },
      async end(how: 'close' | 'crash' | 'crash in flight') {
        if (how === 'crash in flight') await this.send(1, 'in flight');
        if (how === 'close') await held.commit();
      },
    };
  };
  return {
    clock,
    open,
    /** Weight that the service can still count in its window. */
    least: () => weight(({ at, answeredAt = at }) => answeredAt > clock.monotonicMs() - WINDOW_MS),
    /** Weight that the budget may count without wasting requests. */
    most: () => weight(({ at, answeredAt = at }) => answeredAt > clock.monotonicMs() - WINDOW_MS - SLACK_MS),
  };
}

const send = fc.record({ kind: fc.constant('send' as const), weight: fc.integer({ min: 1, max: 5 }) });
const wait = fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: WINDOW_MS }) });
const move = fc.record({
  kind: fc.constant('move' as const),
  lane: fc.integer({ min: 0, max: LANES - 1 }),
  ending: fc.constantFrom('close' as const, 'crash' as const, 'crash in flight' as const),
});

describe('a credential that moves between lanes', () => {
  test('counts each request of its window once, after any order of moves, closes and crashes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(send, wait, move), { maxLength: 30 }), async (steps) => {
        const { clock, open, least, most } = movingCredential();
        let holder = await open(0);
        for (const step of [...steps, { kind: 'move' as const, lane: 0, ending: 'close' as const }]) {
          if (step.kind === 'send') await holder.send(step.weight);
          else if (step.kind === 'wait') await clock.advance(step.ms);
          else {
            await holder.end(step.ending);
            holder = await open(step.lane);
          }
          expect(holder.budget.used).toBeGreaterThanOrEqual(least());
          expect(holder.budget.used).toBeLessThanOrEqual(most());
        }
      }),
    );
  });

  test('counts each request of its window once, even if two lanes use it at the same time', async () => {
    const either = fc.constantFrom(0 as const, 1 as const);
    const step = fc.tuple(either, fc.oneof(send, wait, move));
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const { clock, open, least, most } = movingCredential();
        const current = { 0: await open(0), 1: await open(1) };
        const lanes = { 0: 0, 1: 1 };
        for (const [of, next] of steps) {
          if (next.kind === 'send') await current[of].send(next.weight);
          else if (next.kind === 'wait') await clock.advance(next.ms);
          else if (next.lane !== lanes[of === 0 ? 1 : 0]) {
            await current[of].end(next.ending);
            lanes[of] = next.lane;
            current[of] = await open(next.lane);
          }
        }
        const { budget } = await open(2);
        expect(budget.used).toBeGreaterThanOrEqual(least());
        expect(budget.used).toBeLessThanOrEqual(most());
      }),
    );
  });

  test('is not held by what a lane remembers of a shorter window', async () => {
    const { clock, open } = movingCredential();
    const first = await open(0, 1_000);
    await first.send(1);
    await first.end('close');
    await clock.advance(30 * WINDOW_MS);
    const second = await open(1);
    await second.send(1);
    await clock.advance(1.1 * WINDOW_MS);
    await second.send(1);
    await second.end('close');
    const { budget } = await open(1);
    expect(budget.used).toBe(1);
    expect(budget.freeAt()).toBe(clock.monotonicMs());
  });
});
