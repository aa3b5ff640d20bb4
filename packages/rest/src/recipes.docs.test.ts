import { readFileSync } from 'node:fs';
import { start } from '@headgate/pipeline';
import { doneInVirtualTime } from '@headgate/pipeline/testing';
import { virtualClock } from '@headgate/throttle/testing';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { startApi } from './api.fixture.ts';
import type { Section } from './list.fixture.ts';
import { type Edit, type EditKind, EmulatedService } from './recipe-emulator.fixture.ts';
import { SERVICES } from './recipe-services.fixture.ts';
import { rest } from './rest.ts';
import { sharedLog } from './shared-log.fixture.ts';

const RUNS = process.env['HEADGATE_TORTURE'] === '1' ? 500 : 8;

const DOCUMENT = readFileSync(new URL('../../../docs/recipes.md', import.meta.url), 'utf8');
/** The YAML of each recipe, by the name of its section. */
const RECIPES = new Map(
  Array.from(DOCUMENT.matchAll(/^```yaml\n(.*?)^```$/gms), ([, yaml = '']) => [Object.keys(parse(yaml) as object)[0] ?? '', yaml]),
);

function sectionOf(name: string, yaml: string): Section {
  const { use, ...section } = (parse(yaml) as Readonly<Record<string, { readonly use: string } & Section>>)[name] ?? { use: '' };
  expect(use).toBe('rest');
  return section as Section;
}

const shareOfLog = sharedLog();

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** A day like others, and two on which clocks are set back within the next hours: in Berlin, and in New York. */
const STARTS = [Date.UTC(2026, 4, 10, 9), Date.UTC(2026, 9, 24, 23, 30), Date.UTC(2026, 10, 1, 4, 30)];

const edit = fc.record({
  kind: fc.constantFrom<EditKind[]>('add', 'change', 'change', 'change', 'remove'),
  table: fc.nat(2),
  row: fc.nat(20),
  waitMs: fc.constantFrom(0, 0, 300, 1_500, 20_000),
  lag: fc.constantFrom(0, 0, 0.01, 1),
});

const scenario = fc.record({
  startMs: fc.constantFrom(...STARTS),
  /** Time between the changes of the first rows, ms. */
  gaps: fc.array(fc.constantFrom(0, 0, 0, 1_000, 7 * MINUTE_MS, DAY_MS), { minLength: 5, maxLength: 34, size: 'max' }),
  unknowns: fc.record({ isFlaky: fc.boolean(), isExclusive: fc.boolean(), isCounted: fc.boolean(), choice: fc.nat(2) }),
  /** The changes before each request of each listing, and the time before the listing, ms. */
  listings: fc.array(
    fc.record({
      edits: fc.array(fc.array(edit, { maxLength: 3 }), { minLength: 4, maxLength: 12 }),
      afterMs: fc.constantFrom(1_000, MINUTE_MS, 20 * MINUTE_MS, 70 * MINUTE_MS),
    }),
    { minLength: 3, maxLength: 3 },
  ),
});

type Scenario = typeof scenario extends fc.Arbitrary<infer Value> ? Value : never;

/** A record is added in each listing: in Athens when an hour comes for the first time, and after it has come twice. */
const SET_BACK: Scenario = {
  startMs: STARTS[1] ?? 0,
  gaps: Array.from({ length: 5 }, () => DAY_MS),
  unknowns: { isFlaky: false, isExclusive: false, isCounted: false, choice: 1 },
  listings: [70, 90, 20].map((minutes) => ({
    edits: [[{ kind: 'add', table: 0, row: 0, waitMs: 0, lag: 0 }], [], [], []],
    afterMs: minutes * MINUTE_MS,
  })),
};

/** Tags of the records in a topic. A record that isn't an object is its own tag. */
function tagsIn(values: readonly unknown[]): string[] {
  return values.map((value) => (typeof value === 'object' && value !== null && 'tag' in value ? String(value.tag) : String(value)));
}

/**
 * Runs a recipe against its emulator: three listings of a list that changes, and one of a list that doesn't. Returns what is wrong: records that are
 * missing, those that are written twice, dead letters, and requests that the service refuses.
 */
async function flawsOf(name: string, yaml: string, { startMs, gaps, unknowns, listings }: Scenario) {
  const clock = virtualClock({ epochMs: startMs });
  const service = new EmulatedService(clock, unknowns);
  const { routes, knows } = SERVICES[name]?.(service) ?? { routes: {} };
  for (const table of service.tables) {
    let at = startMs - gaps.reduce((sum, gap) => sum + gap, 0) - 2 * MINUTE_MS;
    for (const gap of gaps.slice(0, table.options.first)) table.fill((at += gap));
  }
  let pending: (readonly Edit[])[] = [];
  const apply = () => {
    for (const one of pending.shift() ?? []) service.apply(one);
  };
  await using api = await startApi({ routes: service.routes(routes, apply), ...(knows && { knows }) });
  const text = yaml.replaceAll(/\$\{(\w+)\}/g, 'secret-$1').replaceAll(/https:\/\/[\w.-]+/g, api.url);
  const section = sectionOf(name, text);
  const pipeline = rest('api')(section);
  // Lists that are repeated by the clock are due again in each listing.
  const everyMs = section.every === undefined ? 0 : 60 * MINUTE_MS;
  const share = shareOfLog();
  const lost = new Set<string>();
  const repeated = new Set<string>();
  const errors: string[] = [];
  const seen = new Map<string, string[]>();
  const quiet = { edits: [], afterMs: DAY_MS };
  for (const [i, { edits, afterMs }] of [...listings, quiet].entries()) {
    await clock.advance(service.aheadMs + afterMs + everyMs);
    service.aheadMs = 0;
    pending = edits.map((some) => [...some]);
    const began = service.now();
    const running = await start({ ...share, clock, pipelines: [pipeline] });
    if (i > 0 && section.every === undefined)
      await running.enqueue(
        'api',
        Array.from(pipeline.listed(), ({ value }) => JSON.parse(value) as never),
      );
    const { failures } = await doneInVirtualTime({ running, clock });
    await running.stop();
    errors.push(...failures.map(String));
    for (const { options, during } of service.tables.map((table) => ({
      options: table.options,
      during: table.during(began, service.now()),
    }))) {
      const { stream, lists, tags, child } = options;
      const read = async (of: string) =>
        tagsIn(
          (await Array.fromAsync(share.log.read({ topic: `${share.topics.prefix}api.${of}` }))).map(({ value }) =>
            JSON.parse(value ?? 'null'),
          ),
        );
      const all = await read(stream);
      const before = seen.get(stream) ?? [];
      const found = lists === 'changes' ? all : all.slice(before.length);
      for (const tag of during.flatMap(tags))
        if (!found.includes(tag) && (lists !== 'moving' || i === listings.length)) lost.add(`${stream} ${tag}`);
      if (lists !== 'moving') for (const [at, tag] of found.entries()) if (found.indexOf(tag) !== at) repeated.add(`${stream} ${tag}`);
      if (child === undefined || i < listings.length) continue;
      const children = await read(child.stream);
      for (const tag of during.flatMap(child.tags)) if (!children.includes(tag)) lost.add(`${child.stream} ${tag}`);
    }
    for (const { options } of service.tables)
      seen.set(options.stream, tagsIn(await Array.fromAsync(share.log.read({ topic: `${share.topics.prefix}api.${options.stream}` }))));
  }
  const letters = await Array.fromAsync(share.log.read({ topic: `${share.topics.prefix}api.dead-letters` }));
  return {
    lost: [...lost],
    repeated: [...repeated],
    refused: service.refused,
    unknown: api.answered.filter(({ status }) => status >= 400).length - service.refused.length - service.announced,
    deadLetters: letters.map(({ value }) => (JSON.parse(value ?? '{}') as { error: { message: string } }).error.message),
    errors,
  };
}

const NONE = { lost: [], repeated: [], refused: [], unknown: 0, deadLetters: [], errors: [] };
type Flaw = keyof typeof NONE;

it('each recipe has an emulator, and wrong recipes that the emulator finds', () => {
  const names = [...RECIPES.keys()].toSorted();
  expect(Object.keys(SERVICES).toSorted()).toEqual(names);
  expect([...new Set(WRONG.map(({ name }) => name))].toSorted()).toEqual(names);
});

// Listings mainly wait for the service and the log, so recipes run at the same time.
it.concurrent.each([...RECIPES])(
  '%s: each change once, and no request that the service refuses, while its list moves',
  async (name, yaml) => {
    await fc.assert(
      fc.asyncProperty(scenario, async (given) => {
        expect(await flawsOf(name, yaml, given)).toEqual(NONE);
      }),
      { numRuns: RUNS, examples: [[SET_BACK]] },
    );
  },
);

it.each([...RECIPES])('%s: the document says when the service’s documentation was read, and what the recipe doesn’t cover', (_, yaml) => {
  const text = DOCUMENT.slice(DOCUMENT.indexOf(yaml) + yaml.length).split(/^(?:## .*|```yaml)$/m, 1)[0] ?? '';
  expect(text).toMatch(/^Not covered: \S/m);
  expect(text).toMatch(/^Read in \w+ 20\d\d: \S/m);
});

interface WrongRecipe {
  readonly name: string;
  readonly flaw: Flaw;
  readonly changes: readonly (readonly [from: string, to: string])[];
  /** Seed with which few scenarios show the flaw. Default: 1. */
  readonly seed?: number;
}

/** Wrong recipes: what is replaced, and the flaw that the emulator must show. Most of them were in the document, or in reports of users. */
const WRONG: readonly WrongRecipe[] = [
  { name: 'github', flaw: 'lost', changes: [['order: ascending', 'order: fixed']] },
  { name: 'github', flaw: 'lost', changes: [['overlap: 1s, ', '']] },
  {
    name: 'github',
    flaw: 'deadLetters',
    changes: [['    - { status: 403, when: "$[?search(@, \'secondary rate limit\')]", then: wait, wait: 1m }\n', '']],
  },
  { name: 'github', flaw: 'deadLetters', changes: [['    - { status: 410, then: empty }\n', '']] },
  { name: 'github', flaw: 'refused', changes: [['wait: 1m }', 'wait: 10s }']] },
  { name: 'stripe', flaw: 'refused', changes: [['is: 100', 'is: 200']] },
  { name: 'zendesk', flaw: 'deadLetters', changes: [['$.generated_timestamp', '$.updated_at']] },
  {
    name: 'zendesk',
    flaw: 'deadLetters',
    seed: 10,
    changes: [['errors: [{ status: 422, when: { $.error: StartTimeTooRecent }, then: empty }]', '']],
  },
  { name: 'zendesk', flaw: 'refused', changes: [[', alone: true', '']] },
  { name: 'zendesk', flaw: 'refused', seed: 11, changes: [['requests: 10, window: 1m', 'requests: 100, window: 1m']] },
  { name: 'hubspot', flaw: 'refused', changes: [['is: 100', 'is: 200']] },
  { name: 'notion', flaw: 'lost', seed: 3, changes: [['timestamp: created_time', 'timestamp: last_edited_time']] },
  { name: 'notion', flaw: 'refused', changes: [['"2025-09-03"', '"2022-06-28"']] },
  { name: 'slack', flaw: 'refused', changes: [['is: 200', 'is: 1000']] },
  { name: 'hackernews', flaw: 'deadLetters', changes: [['/item/{id}.json', '/item/{id}']] },
  { name: 'pokeapi', flaw: 'refused', changes: [['limit: 100', 'limit: 100, sort: name']] },
  { name: 'jira', flaw: 'refused', changes: [['/rest/api/3/search/jql', '/rest/api/2/search']] },
  { name: 'jira', flaw: 'lost', seed: 3, changes: [['order by created asc', 'order by updated asc']] },
  { name: 'jira', flaw: 'lost', changes: [[', overlap: 1h', '']] },
  {
    name: 'jira',
    flaw: 'lost',
    changes: [
      ['{since:ms}', '\\"{since:%Y/%m/%d %H:%M}\\"'],
      ['overlap: 1h', 'overlap: 1m, zone: Asia/Tokyo'],
    ],
  },
  {
    name: 'jira',
    flaw: 'lost',
    seed: 20,
    changes: [
      ['{since:ms}', '\\"{since:%Y/%m/%d %H:%M}\\"'],
      ['overlap: 1h', 'overlap: 6m, zone: Europe/Berlin'],
    ],
  },
  {
    name: 'paypal',
    flaw: 'refused',
    changes: [
      ['{since:%Y-%m-%dT%H:%M:%S}Z', '{since}'],
      ['2025-01-01T00:00:00Z', '2025-01-01'],
    ],
  },
  { name: 'paypal', flaw: 'refused', changes: [['{since:%Y-%m-%dT%H:%M:%S}Z', '{since}']] },
  { name: 'paypal', flaw: 'refused', changes: [['2025-01-01', '2022-01-01']] },
  { name: 'paypal', flaw: 'refused', changes: [['window: 31d', 'window: 62d']] },
  { name: 'paypal', flaw: 'lost', seed: 4, changes: [['overlap: 3h', 'overlap: 1m']] },
  { name: 'quickbooks', flaw: 'deadLetters', changes: [[' orderby MetaData.LastUpdatedTime', '']] },
  { name: 'quickbooks', flaw: 'deadLetters', changes: [['Invoice[?@.Id]', 'Invoice[*]']] },
  {
    name: 'blog',
    flaw: 'lost',
    changes: [
      ['{since:%Y-%m-%d}T00:00:00Z', '{since}'],
      ['overlap: 61m', 'overlap: 1s'],
    ],
  },
  {
    name: 'blog',
    flaw: 'lost',
    seed: 7,
    changes: [
      ['{since:%Y-%m-%d}T00:00:00Z', '{since}Z'],
      ['overlap: 61m', 'overlap: 1s'],
    ],
  },
  { name: 'blog', flaw: 'repeated', changes: [['{since:%Y-%m-%d}T00:00:00Z', '{since}Z']] },
  { name: 'blog', flaw: 'refused', changes: [['{since:%Y-%m-%d}T00:00:00Z', '{since:date}']] },
  {
    name: 'blog',
    flaw: 'lost',
    changes: [['offset: { query: offset }, total: { header: x-wp-total }', 'page: { query: page }, last: { header: x-wp-totalpages }']],
  },
  { name: 'xero', flaw: 'refused', changes: [['{since:%Y-%m-%dT%H:%M:%S}', '{since:http}']] },
  { name: 'xero', flaw: 'lost', changes: [['order: ascending', 'order: fixed']] },
  { name: 'xero', flaw: 'lost', changes: [['overlap: 1s, ', '']] },
  { name: 'follower-ids', flaw: 'deadLetters', changes: [[', end: "0"', '']] },
  { name: 'authors', flaw: 'deadLetters', changes: [['errors: [{ status: 404, then: empty }]', '']] },
];

const TITLED = WRONG.map(
  (one) => [`${one.name}: ${one.changes.map(([from, to]) => `${to || 'nothing'} for ${from}`).join(', ')}`, one] as const,
);

it.concurrent.each(TITLED)('an emulator finds a wrong recipe, %s', async (_, { name, flaw, changes, seed = 1 }) => {
  const yaml = changes.reduce(
    (text, [from, to]) => {
      expect(text).toContain(from);
      return text.replace(from, () => to);
    },
    RECIPES.get(name) ?? '',
  );
  const found = new Set<string>();
  const { failed } = await fc.check(
    fc.asyncProperty(scenario, async (given) => {
      const flaws = await flawsOf(name, yaml, given);
      for (const [kind, value] of Object.entries(flaws)) if (value !== 0 && !(Array.isArray(value) && value.length === 0)) found.add(kind);
      return !found.has(flaw);
    }),
    { numRuns: 60, seed, endOnFailure: true, examples: [[SET_BACK]] },
  );
  expect({ failed, found: [...found] }).toEqual({ failed: true, found: expect.arrayContaining([flaw]) });
});

it.each([
  [
    'github',
    'order: ascending, ',
    '',
    'needs order, because a record that changes place between two pages (link) can move another one past them',
  ],
  ['jira', '{since:ms}', '\\"{since:%Y/%m/%d %H:%M}\\"', 'sends {since:%Y/%m/%d %H:%M}, a time of day without a zone'],
  ['paypal', ', order: fixed', '', 'needs order'],
  ['xero', ', zone: UTC', '', 'sends {since:%Y-%m-%dT%H:%M:%S}, a time of day without a zone'],
])('%s with %j for %j is refused', (name, from, to, why) => {
  const yaml = RECIPES.get(name) ?? '';
  expect(yaml).toContain(from);
  expect(() =>
    rest('api')(
      sectionOf(
        name,
        yaml.replace(from, () => to),
      ),
    ),
  ).toThrow(why);
});
