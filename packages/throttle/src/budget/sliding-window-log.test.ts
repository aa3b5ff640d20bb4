import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SlidingWindowLog } from './sliding-window-log.ts';

type Step = { readonly do: 'add' | 'take off' | 'wait'; readonly ms: number; readonly weight: number };

/** Generates steps that add and correct weights, some of which have already ended. Many of the instants coincide. */
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    do: fc.constantFrom('add', 'add', 'add', 'take off', 'wait'),
    ms: fc.integer({ min: 0, max: 60 }),
    weight: fc.integer({ min: 1, max: 5 }),
  }),
  { maxLength: 60, size: 'max' },
);
const sum = (some: readonly { readonly weight: number }[]): number => some.reduce((all, { weight }) => all + weight, 0);

interface Scene {
  readonly log: SlidingWindowLog;
  /** All weights that were added, less what was taken off. */
  readonly plain: readonly { readonly until: number; readonly weight: number }[];
  readonly now: number;
}

/** Applies the steps to a log and to a plain list of weights. Returns the answers to a question after each step. */
function play<Answer>(all: readonly Step[], ask: (scene: Scene) => Answer): Answer[] {
  const log = new SlidingWindowLog(15, 1_000);
  const plain: { until: number; weight: number }[] = [];
  let now = 100;
  return all.map(({ do: what, ms, weight }) => {
    if (what === 'wait') now += ms;
    if (what === 'add') {
      log.add(now + ms - 20, weight);
      plain.push({ until: now + ms - 20, weight });
    }
    const one = plain.find(({ until, weight: own }) => until > now && own > 0);
    if (what === 'take off' && one !== undefined) {
      log.add(one.until, -1);
      one.weight -= 1;
    }
    return ask({ log, plain, now });
  });
}

const ROOMS = [-1, 0, 3, 10];

interface Question {
  readonly what: string;
  readonly said: (scene: Scene) => unknown;
  readonly truth: (scene: Scene) => unknown;
}

/** Each question is asked in a separate run, so that no method relies on another to drop ended weights. */
const QUESTIONS: readonly Question[] = [
  {
    what: 'what is busy',
    said: ({ log, now }) => log.busy(now),
    truth: ({ plain, now }) => sum(plain.filter(({ until }) => until > now)),
  },
  {
    what: 'what is busy then, and later',
    said: ({ log, now }) => log.unrefusedAt(now + 10),
    truth: ({ plain, now }) => sum(plain.filter(({ until }) => until >= now + 10)),
  },
  {
    what: 'when the last came free',
    said: ({ log, now }) => log.freedAt(now),
    truth: ({ plain, now }) => Math.max(-Infinity, ...plain.flatMap(({ until }) => (until > now ? [] : [until]))),
  },
  {
    what: 'when there is room',
    said: ({ log, now }) => ROOMS.map((room) => log.freeAt(room, now)),
    truth: ({ plain, now }) => {
      const instants = [now, ...plain.map(({ until }) => until).filter((until) => until > now)].toSorted((a, b) => a - b);
      return ROOMS.map((room) => instants.find((at) => sum(plain.filter(({ until }) => until > at)) <= room) ?? Infinity);
    },
  },
  {
    what: 'what is left',
    said: ({ log, now }) => log.left(now, 60),
    truth: ({ plain, now }) => {
      const alive = plain.filter(({ until }) => until > now);
      const pairs = [...Map.groupBy(alive, ({ until }) => until - now)].map(([ms, same]) => [ms, sum(same)]);
      return pairs.filter(([, weight]) => weight !== 0).toSorted(([a = 0], [b = 0]) => a - b);
    },
  },
];

describe('SlidingWindowLog', () => {
  it.each(QUESTIONS)('says $what like a plain list, whatever comes and goes', ({ said, truth }) => {
    fc.assert(
      fc.property(steps, (all) => {
        expect(play(all, said)).toEqual(play(all, truth));
      }),
    );
  });

  it('describes what is left in few pairs: never less of it at any time, and all of it at first', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 8 }), (all, most) => {
        for (const { pairs, plain, now } of play(all, (scene) => ({
          ...scene,
          plain: structuredClone(scene.plain),
          pairs: scene.log.left(scene.now, most),
        }))) {
          const told = (ms: number): number => pairs.reduce((busy, [until, weight]) => busy + (until > ms ? weight : 0), 0);
          const exact = (ms: number): number => sum(plain.filter(({ until }) => until > now + ms));
          expect(pairs.length).toBeLessThanOrEqual(most);
          expect(told(0)).toBe(exact(0));
          for (let ms = 1; ms < 60; ms += 1) expect(told(ms)).toBeGreaterThanOrEqual(exact(ms));
        }
      }),
    );
  });

  it('counts big limits in buckets: never freer than the exact log, little memory', () => {
    const windowMs = 900_000;
    const exact = new SlidingWindowLog(1_000, windowMs);
    const bucketed = new SlidingWindowLog(1_000_000, windowMs);
    for (let i = 0; i < 50_000; i += 1) {
      exact.add(windowMs + i * 10, 1);
      bucketed.add(windowMs + i * 10, 1);
    }
    expect(bucketed.left(0, 50_000).length).toBeLessThanOrEqual(1_000);
    for (let now = 0; now < 2 * windowMs; now += 7_777) {
      const atMost = exact.busy(now - windowMs / 1_000);
      const busy = bucketed.busy(now);
      expect(busy).toBeLessThanOrEqual(atMost);
      expect(busy).toBeGreaterThanOrEqual(exact.busy(now));
    }
  });
});

it('moves every end by what its clock was set back', () => {
  let setBackMs = 0;
  const log = new SlidingWindowLog(10, 100, undefined, () => setBackMs);
  log.add(40, 1);
  setBackMs = 30;
  log.add(60, 2);
  expect([log.unrefusedAt(60), log.unrefusedAt(61), log.unrefusedAt(70), log.unrefusedAt(71)]).toEqual([3, 1, 1, 0]);
  expect(log.left(50, 9)).toEqual([
    [10, 2],
    [20, 1],
  ]);
  expect([log.busy(59), log.busy(60), log.freeAt(0, 60), log.busy(70), log.freedAt(70)]).toEqual([3, 1, 70, 0, 70]);
});

it('counts what was refused, and what another entry of the journal keeps, apart', () => {
  const log = new SlidingWindowLog(10, 100);
  log.add(40, 1);
  log.add(40, 2, { wasRefused: true });
  log.add(50, 4, { elsewhere: true });
  expect([log.busy(0), log.busy(0, 'unrefused'), log.unrefusedAt(40), log.left(0, 9)]).toEqual([7, 5, 5, [[40, 3]]]);
  expect([log.freeAt(4, 0), log.freeAt(4, 0, 'unrefused'), log.freeAt(5, 0, 'unrefused')]).toEqual([40, 40, 0]);
  log.add(40, -1, { wasRefused: true });
  expect([log.busy(0), log.busy(0, 'unrefused'), log.left(0, 9)]).toEqual([6, 5, [[40, 2]]]);
});

it('keeps ended weights of a rolling window for another one, since a service with a slower clock still counts them', () => {
  const [rolling, calendar] = [new SlidingWindowLog(10, 100), new SlidingWindowLog(10, 100, 5)];
  for (const log of [rolling, calendar]) log.add(40, 1);
  const counted = (now: number) => [rolling, calendar].map((log) => [log.busy(now), log.unrefusedAt(40)]);
  expect([counted(39), counted(40), counted(139), counted(140)]).toEqual([
    [
      [1, 1],
      [1, 1],
    ],
    [
      [0, 1],
      [0, 0],
    ],
    [
      [0, 1],
      [0, 0],
    ],
    [
      [0, 0],
      [0, 0],
    ],
  ]);
});
