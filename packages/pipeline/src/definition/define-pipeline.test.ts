import { describe, expect, it, test } from 'vitest';
import * as z from 'zod';
import type { PipelineDefinition } from './pipeline-definition.ts';
import { definePipeline } from './define-pipeline.ts';
import { type TopicMap, topic } from '../topics/topic.ts';

const options = z.strictObject({ shelves: z.array(z.string()).default([]), keys: z.array(z.string()).default([]) });
const request = z.strictObject({ shelf: z.string() });
const value = z.object({});

function shelves(more: Partial<PipelineDefinition<typeof options, typeof request, TopicMap, { readonly name: string }>> = {}) {
  return definePipeline({
    name: 'shelves',
    options,
    request,
    topics: {},
    keyOf: ({ shelf }) => shelf,
    open: () => {
      throw new Error('nothing runs it');
    },
    ...more,
  });
}

describe('a definition', () => {
  it.each(['', 'Shelves', '7shelves', 'a_b', 'a.b', 'a'.repeat(51), 'headgate', 'topics', 'status'])('can’t be called "%s"', (name) => {
    expect(() => shelves({ name })).toThrow(expect.objectContaining({ code: 'HEADGATE_DEFINITION' }));
  });

  it.each(['requests', 'dead-letters', 'state', 'a.b', '', 'a b', 'a'.repeat(51)])('can’t have a topic "%s"', (name) => {
    expect(() => shelves({ topics: { [name]: topic({ value }) } })).toThrow(expect.objectContaining({ code: 'HEADGATE_DEFINITION' }));
  });

  // Node.js strips the types of a module without checking them, so a definition can have invalid parts.
  it.each([
    [{ keyOf: undefined }, 'keyOf is missing.'],
    [{ open: 7 }, 'open must be a function.'],
    [{ name: undefined }, 'name is missing.'],
    [{ unit: () => 'books' }, 'unit must be text.'],
    [{ options: { shelves: z.array(z.string()) } }, 'options must be a zod schema, such as z.strictObject({ … }).'],
    [{ options: z.string() }, 'options must be a zod schema, such as z.strictObject({ … }).'],
    [{ request: 'shelf' }, 'request must be a zod schema, such as z.strictObject({ … }).'],
    [{ topics: undefined }, 'topics is missing.'],
    [{ parze: () => ({ shelf: 'a' }) }, /^definePipeline: parze isn't part of a definition. Its parts are name, options, .* and expect\.$/],
  ])('that has %o is refused', (more, message) => {
    expect(() => shelves(more as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_DEFINITION' }));
    expect(() => shelves(more as never)).toThrow(message);
  });

  it('may have names of 50 characters', () => {
    const longest = `a${'-'.repeat(49)}`;
    expect(shelves({ name: longest, topics: { [longest]: topic({ value }) } })({}).name).toBe(longest);
  });
});

describe('options', () => {
  it('include every and maxOutstanding in addition to those of the definition', () => {
    expect(shelves()({ every: '1h', maxOutstanding: 7 })).toMatchObject({ everyMs: 3_600_000, maxOutstanding: 7, unit: 'records' });
    expect(shelves()({})).toMatchObject({ everyMs: undefined, maxOutstanding: 20_000 });
  });

  it('that are invalid are all reported, each with its path', () => {
    const given = { every: 'often', shelves: [7], other: 1 } as never;
    expect(() => shelves()(given)).toThrow(
      expect.objectContaining({
        code: 'HEADGATE_INVALID_OPTION',
        message: [
          'shelves.shelves.0: must be text.',
          "shelves.every: isn't a duration. Write a whole number with ms, s, m, h or d, such as 15m.",
          'shelves.other: unknown key.',
        ].join('\n'),
      }) as Error,
    );
  });
});

describe('requests', () => {
  it('have the key from the definition, and their text', () => {
    const { requests } = shelves()({});
    expect(requests.keyed({ shelf: 'a' })).toEqual({ key: 'a', value: '{"shelf":"a"}' });
    expect(requests.parse('{ "shelf": "a" }')).toEqual({ key: 'a', value: '{ "shelf": "a" }' });
  });

  it.each([undefined, null, 7, {}, { shelf: 'a', other: 1 }])('%j is none', (given) => {
    expect(() => shelves()({}).requests.keyed(given as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_MALFORMED_REQUEST' }));
  });

  it('are parsed from lines if the definition parses lines', () => {
    expect(shelves({ parse: (line) => ({ shelf: line.trim() }) })({}).requests.parseLine(' a ')).toEqual({
      key: 'a',
      value: '{"shelf":"a"}',
    });
    expect(() => shelves()({}).requests.parseLine('a')).toThrow(
      expect.objectContaining({
        code: 'HEADGATE_MALFORMED_REQUEST',
        message: 'shelves accepts only JSON objects as jobs.',
      }),
    );
  });

  it.each([{}, { parse: (line: string) => ({ shelf: line }) }])('are parsed from lines of JSON', (more) => {
    const { requests } = shelves(more)({});
    expect(requests.parseLine(' {"shelf": "a"}')).toEqual({ key: 'a', value: ' {"shelf": "a"}' });
    expect(() => requests.parseLine('{"shelf": 7}')).toThrow('The job is malformed: shelf must be text.');
    expect(() => requests.parseLine('{a}')).toThrow(/^The job isn't JSON: /);
  });

  it('from the configured list are ordinary requests', () => {
    const listed = shelves({ listed: ({ shelves: all }) => all.map((shelf) => ({ shelf })) });
    expect(Array.from(listed({ shelves: ['a', 'b'] }).listed(), ({ key }) => key)).toEqual(['a', 'b']);
    expect([...shelves()({}).listed()]).toEqual([]);
  });
});

test('lanes split the credentials, each in one lane', () => {
  const given: (readonly string[])[] = [];
  const pipeline = shelves({
    credentials: ({ keys }) => keys.map((name) => ({ name })),
    open(_, { credentials }) {
      given.push(credentials.map(({ name }) => name));
      throw new Error('nothing runs it');
    },
  })({ keys: ['a', 'b', 'c', 'd', 'e'] });
  expect(pipeline.credentials).toEqual(['a', 'b', 'c', 'd', 'e']);
  for (const lane of [0, 1]) expect(() => pipeline.open({} as never, { lane, lanes: 2 })).toThrow('nothing runs it');
  expect(given).toEqual([
    ['a', 'c', 'e'],
    ['b', 'd'],
  ]);
});

test('a probe uses one credential and sends the request once', () => {
  const given: unknown[] = [];
  const pipeline = shelves({
    credentials: ({ keys }) => keys.map((name) => ({ name })),
    probe(_, { credentials, retryForMs, waitOutOutages }) {
      given.push({ credentials, retryForMs, waitOutOutages });
      throw new Error('nothing is requested');
    },
  })({ keys: ['a', 'b'] });
  expect(() => pipeline.probe({} as never, 1)).toThrow('nothing is requested');
  expect(given).toEqual([{ credentials: [{ name: 'b' }], retryForMs: 0, waitOutOutages: false }]);
});

test('a walk is expected to have as many pages as last time, unless the definition overrides that', () => {
  const job = { shelf: 'a' };
  const last = { pages: 7, items: 70 };
  expect([shelves()({}).expect(job, last), shelves()({}).expect(job, undefined)]).toEqual([7, undefined]);
  const knowing = shelves({ expect: ({ shelf }, { items = 0 } = { pages: 0, items: 0 }) => shelf.length + items });
  expect(knowing({}).expect(job, last)).toBe(71);
});

describe('a definition whose functions fail', () => {
  const threw = (words: RegExp) =>
    expect.objectContaining({ code: 'HEADGATE_USER_FUNCTION', message: expect.stringMatching(words), pipeline: 'shelves' }) as Error;
  const fail = (): never => {
    throw new TypeError('out of luck');
  };

  it.each(['credentials', 'warnings', 'usualBytes', 'pageItems', 'agreed', 'listed', 'open'] as const)(
    'is reported with the name of the function: %s',
    (name) => {
      const made = (more: object) => {
        const pipeline = shelves(more)({});
        void [...pipeline.listed()];
        pipeline.open({} as never, { lane: 0, lanes: 1 });
      };
      const called = `^${name} of pipeline shelves threw TypeError`;
      expect(() => made({ [name]: fail })).toThrow(
        threw(new RegExp(`${called}: out of luck \\(at .*define-pipeline\\.test.*\\)\\. Fix it\\.`)),
      );
      const late = () => Promise.reject(new Error('too late'));
      expect(() => made({ [name]: late })).toThrow(threw(new RegExp(`^${name} of pipeline shelves can't be used: it returns a promise`)));
    },
  );

  it.each([
    ['open', () => undefined, 'returns undefined. It must return the result of walk, lookup or route'],
    ['credentials', () => 7, 'returns 7. It must return a list'],
    ['credentials', () => [7], 'returns a credential without a name'],
    ['listed', () => [Promise.reject(new Error('too late'))], 'returns a list with a promise'],
    ['listed', async function* () {}, 'returns Object .AsyncGenerator'],
    ['agreed', () => ({ most: 1n }), 'threw TypeError: Do not know how to serialize a BigInt'],
    ['keyOf', () => 7, 'returns 7. It must return text'],
    ['every', () => '24h', 'returns 24h. It must return a number of milliseconds above 0, or undefined'],
    ['every', () => NaN, 'returns NaN. It must return a number of milliseconds above 0'],
    ['every', () => 0, 'returns 0. It must return a number of milliseconds above 0'],
  ])('is told which and what it gives: %s, %#', (name, give, says) => {
    const made = (): void => {
      const pipeline = shelves({ listed: () => [{ shelf: 'a' }], [name]: give as never })({});
      void [...pipeline.listed()];
      pipeline.open({} as never, { lane: 0, lanes: 1 });
    };
    expect(made).toThrow(new RegExp(`${name} of pipeline shelves .*${says.replaceAll(/[.()]/g, '.')}`));
  });

  it('is reported with the index of the invalid listed request', () => {
    const pipeline = shelves({ listed: () => [{ shelf: 'a' }, { shelf: 7 as never }] })({});
    const message = expect.stringMatching(/^shelves: job 1 of its list is invalid: /);
    expect(() => [...pipeline.listed()]).toThrow(expect.objectContaining({ code: 'HEADGATE_MALFORMED_REQUEST', message }) as Error);
  });

  it.each(['use', 'every', 'maxOutstanding', 'stopAfterFailures'])('can’t have the reserved option %s', (name) => {
    const message = expect.stringContaining(`${name} is an option of every pipeline. Rename the option ${name} of this one.`);
    expect(() => shelves({ options: z.strictObject({ [name]: z.string() }) as never })).toThrow(
      expect.objectContaining({ message }) as Error,
    );
  });

  it.each([0, -1, 1.5, NaN])('can’t have a maxOutstanding of %d', (maxOutstanding) => {
    expect(() => shelves({ maxOutstanding })).toThrow('maxOutstanding must be a whole number above 0');
  });
});
