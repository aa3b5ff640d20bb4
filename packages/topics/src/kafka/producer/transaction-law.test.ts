import { describe, expect, it } from 'vitest';
import { type Find, type Poll, type Read, begin, settle, write } from './transaction-law.ts';
import {
  type Content,
  type Describe,
  type ModelLaw,
  type ModelOptions,
  type ModelSteps,
  explore,
  walkAtRandom,
} from './transaction-model.fixture.ts';

const LAW: ModelLaw = { begin, write, settle: () => settle(true) };
/** A writer that another one replaces at its end can be done before its successor has written the last page again. */
const REPLACED: ModelLaw = { ...LAW, mayHide: true };
const NO_FAULT = { writers: 1, pages: 1, cuts: 0, deaths: 0, skips: 0, timeouts: 0, restarts: 0 };
const isTorture = process.env['HEADGATE_TORTURE'] === '1';

/** Limits of the model that are small enough to explore every state. */
const BOUNDS: readonly Partial<ModelOptions>[] = [
  { pages: 2, cuts: 1, skips: 2, restarts: 1 },
  { pages: 1, cuts: 1, skips: 1, timeouts: 1, restarts: 2 },
  { writers: 2, cuts: 1, restarts: 0 },
  ...(isTorture
    ? [
        { law: REPLACED, writers: 2, skips: 1, deaths: 1, restarts: 1 },
        { law: REPLACED, writers: 2, skips: 1, timeouts: 1, restarts: 1 },
        { cuts: 2, skips: 1, timeouts: 1, restarts: 2 },
        { pages: 2, cuts: 2, skips: 1, restarts: 2 },
      ]
    : []),
];

describe.each([1, 2] as const)('the law of transactions, version %i', (version) => {
  it.each(BOUNDS)('loses and repeats nothing in any state: %o', (bounds) => {
    const { states, violation } = explore({ law: LAW, version, ...NO_FAULT, ...bounds });
    expect(violation).toBeUndefined();
    expect(states).toBeGreaterThan(1_000);
  });

  it('loses and repeats nothing on longer random paths', () => {
    const bounds = { writers: 3, pages: 4, cuts: 6, deaths: 2, skips: 6, timeouts: 2, restarts: 12 };
    const { violation } = walkAtRandom({ law: LAW, version, ...bounds }, { walks: isTorture ? 30_000 : 100, random: lcg(version) });
    expect(violation).toBeUndefined();
  });

  it.each(Object.entries(MUTANTS))('needs each of its rules: %s', (_, { law, bounds }) => {
    const { violation } = explore({ law: { ...LAW, ...law }, version, ...NO_FAULT, ...bounds }, 300_000);
    expect(violation).toBeDefined();
  });
});

interface Mutant {
  readonly law: Partial<ModelLaw>;
  readonly bounds: Partial<ModelOptions>;
}

type Written = Parameters<ModelLaw['write']>;

/** The law's steps up to the end of the abort, for mutants that change only later steps. */
function* fenced(): ModelSteps {
  yield { do: 'fence' };
  yield { do: 'end', commit: false, again: true };
  yield* settle<Content>(false);
}

function* unsettledWrite(...[content, id]: Written): ModelSteps {
  yield { do: 'write', content, ...(id !== undefined && { id }) };
  yield { do: 'end', commit: true, again: false };
}

function* justPolls(): ModelSteps {
  const poll: Poll = { do: 'poll', isEnded: false };
  yield poll;
}

/** The law's last steps of `begin`, with changes. `which` selects the noted transactions to look for; `mayBePartial` accepts incomplete ones. */
function* recovered(which: (read: Read) => Read['transactions'], mayBePartial = false): ModelSteps {
  const read: Read = { do: 'read', transactions: [] };
  yield read;
  for (const transaction of which(read)) {
    const find: Find<Content> = { do: 'find', transaction, isWhole: false, lost: undefined };
    yield find;
    if (!find.isWhole && !mayBePartial) continue;
    if (find.lost !== undefined) {
      yield* write(find.lost, transaction.id);
      yield* settle<Content>(true);
      yield { do: 'read', transactions: [] };
    }
    return;
  }
}

const newestFirst = ({ transactions }: Read): Read['transactions'] => transactions.toReversed();

/** An earlier law, which the model refutes. It gives an open transaction the outcome that the coordinator remembers, and trusts acknowledgements. */
const LAST_LAW: ModelLaw = {
  *begin(barrier) {
    const last: Describe = { do: 'describe', wasCommitted: false };
    yield last;
    yield { do: 'fence' };
    yield { do: 'end', commit: last.wasCommitted, again: true };
    yield* unsettledWrite(barrier);
    yield { do: 'read', transactions: [] };
  },
  write: unsettledWrite,
  settle: justPolls,
  trustsMemory: true,
  mayHide: true,
};

const MUTANTS: Readonly<Record<string, Mutant>> = {
  'the last law, behind a page that hangs': { law: LAST_LAW, bounds: { pages: 2, cuts: 1, skips: 2, restarts: 1 } },
  'the last law, where its cure is interrupted': { law: LAST_LAW, bounds: { pages: 1, cuts: 2, skips: 2, restarts: 2 } },
  'the last law, with another process': { law: LAST_LAW, bounds: { writers: 2, pages: 1, skips: 2 } },
  'writes behind a transaction that has not ended everywhere': {
    law: {
      write: unsettledWrite,
    },
    bounds: { pages: 2, cuts: 1, skips: 2, restarts: 1 },
  },
  'does not abort what is open after its fence': {
    law: {
      *begin(barrier) {
        yield { do: 'fence' };
        yield* write(barrier);
        yield* settle<Content>(true);
        yield* recovered(newestFirst);
      },
    },
    bounds: { pages: 1, cuts: 1, skips: 2, restarts: 1 },
  },
  'does not wait for the end of its abort': {
    law: {
      *begin(barrier) {
        yield { do: 'fence' };
        yield { do: 'end', commit: false, again: true };
        yield* unsettledWrite(barrier);
        yield* settle<Content>(true);
        yield* recovered(newestFirst);
      },
    },
    bounds: { pages: 1, cuts: 1, skips: 3, restarts: 1 },
  },
  'commits what is open after its fence': {
    law: {
      *begin(barrier) {
        yield { do: 'fence' };
        yield { do: 'end', commit: true, again: true };
        yield* settle<Content>(true);
        yield* write(barrier);
        yield* settle<Content>(true);
        yield* recovered(newestFirst);
      },
    },
    bounds: { pages: 1, cuts: 1, skips: 2, restarts: 1 },
  },
  'reads before its barrier': {
    law: {
      *begin(barrier) {
        yield { do: 'read', transactions: [] };
        yield* fenced();
        yield* write(barrier);
        yield* settle<Content>(true);
      },
    },
    bounds: { pages: 1, cuts: 1, skips: 1, restarts: 1 },
  },
  'writes nothing again': {
    law: {
      *begin(barrier) {
        yield* fenced();
        yield* write(barrier);
        yield* settle<Content>(true);
        yield { do: 'read', transactions: [] };
      },
    },
    bounds: { pages: 1, cuts: 1, skips: 1, restarts: 1 },
  },
  'writes again what was never whole': {
    law: {
      *begin(barrier) {
        yield* fenced();
        yield* write(barrier);
        yield* settle<Content>(true);
        yield* recovered(newestFirst, true);
      },
    },
    bounds: { pages: 1, cuts: 1, restarts: 1 },
  },
  'looks at the newest note alone': {
    law: {
      *begin(barrier) {
        yield* fenced();
        yield* write(barrier);
        yield* settle<Content>(true);
        yield* recovered((read) => read.transactions.slice(-1));
      },
    },
    bounds: { pages: 1, cuts: 2, skips: 2, restarts: 3 },
  },
  'looks at the oldest note first': {
    law: {
      *begin(barrier) {
        yield* fenced();
        yield* write(barrier);
        yield* settle<Content>(true);
        yield* recovered((read) => read.transactions);
      },
    },
    bounds: { pages: 2, cuts: 2, skips: 2, restarts: 3 },
  },
  'notes nothing of what it writes again': {
    law: {
      *begin(barrier) {
        yield* fenced();
        yield* write(barrier);
        yield* settle<Content>(true);
        const read: Read = { do: 'read', transactions: [] };
        yield read;
        for (const transaction of newestFirst(read)) {
          const find: Find<Content> = { do: 'find', transaction, isWhole: false, lost: undefined };
          yield find;
          if (!find.isWhole) continue;
          if (find.lost !== undefined) yield* write(find.lost);
          return;
        }
      },
    },
    bounds: { pages: 1, cuts: 2, skips: 2, restarts: 3 },
  },
  'never looks whether the last one has ended': {
    law: { settle: justPolls },
    bounds: { pages: 1, skips: 2 },
  },
};

/** Returns a generator of numbers from 0 to below 1, always the same ones for the same seed. */
function lcg(seed: number): () => number {
  let state = seed >>> 0;
  return () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
}
