import { creditPool } from '@headgate/throttle';
import { type VirtualClock, virtualClock } from '@headgate/throttle/testing';
import { lastValueFrom, toArray } from 'rxjs';
import { afterAll, describe, expect, test } from 'vitest';
import { SourceError } from '../source-error.ts';
import type { AttemptEvent } from '../source-options.ts';
import { type Books, books } from './books.ts';
import { Catalogue, type CatalogueOptions, REFUSALS, type Refusal } from './catalogue.fixture.ts';
import { sampleIsbns } from './sample-isbns.fixture.ts';
import { seededRandom } from './seeded-random.fixture.ts';

/** Runs of each property: all of them with HEADGATE_TORTURE=1. */
const SEEDS = process.env['HEADGATE_TORTURE'] === '1' ? 100 : 4;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const FORMS = Object.values(REFUSALS);

interface Work {
  readonly books: readonly string[];
  readonly batched: readonly string[];
  readonly authors: readonly string[];
}

/** What the program learned of each book and author: a record, that it is unknown, or the code of an error that says neither. */
type Outcome = 'found' | 'unknown' | (string & {});

interface Played {
  readonly outcomes: ReadonlyMap<string, Outcome>;
  readonly events: readonly AttemptEvent[];
  readonly service: Catalogue;
}

interface Play {
  readonly seed: number;
  readonly limit: number;
  readonly work: Work;
  readonly catalogue: Partial<CatalogueOptions>;
  readonly other?: (service: Catalogue, clock: VirtualClock, random: () => number) => void;
  readonly withinMs: number;
}

/** Does the work in virtual time, beside another program with the same key. */
async function play({ seed, limit, work, catalogue, other, withinMs }: Play): Promise<Played> {
  const clock = virtualClock();
  const random = seededRandom(seed);
  const service = new Catalogue({ clock, knows: () => true, limit, latencyMs: () => 10 + 190 * random(), ...catalogue });
  const events: AttemptEvent[] = [];
  await using api = books({
    baseUrl: 'http://books.invalid',
    key: 'mine',
    limit: { requests: limit, windowMs: SECOND_MS },
    maxBatch: 10,
    clock,
    random,
    dispatcher: service.dispatcher,
    onAttempt: (event) => events.push(event),
    env: {},
  });
  const outcomes = new Map<string, Outcome>();
  let left = 0;
  const record = (name: string, request: Promise<unknown>): void => {
    left += 1;
    request
      .then(
        () => 'found',
        (error: unknown) => (error instanceof SourceError ? meaningOf(error) : String(error)),
      )
      .then((outcome) => {
        outcomes.set(name, outcome);
        left -= 1;
      })
      .catch(() => undefined);
  };
  for (const isbn of work.books) record(isbn, api.book(isbn));
  for (const name of work.authors) record(name, readAll(api, name));
  for (let i = 0; i < work.batched.length; i += 10) void lookUp(api, work.batched.slice(i, i + 10), record);
  other?.(service, clock, random);
  while (left > 0 && clock.monotonicMs() < withinMs) await clock.advance(20 * SECOND_MS);
  expect(left, 'requests without an end').toBe(0);
  expect(api.gauges().queries).toEqual([]);
  return { outcomes, events, service };
}

async function readAll(api: Books, author: string): Promise<void> {
  await lastValueFrom(api.authorPages(author).pipe(toArray()));
}

async function lookUp(api: Books, isbns: readonly string[], record: (name: string, request: Promise<unknown>) => void): Promise<void> {
  const batch = api.batch(isbns, { credits: creditPool({ max: 100 }) });
  for (const isbn of isbns) {
    const one = async (): Promise<void> => {
      const { value } = await batch;
      const answer = value.find((each) => each.isbn === isbn);
      if (answer?.kind === 'missing') throw new SourceError({ code: 'MISSING', message: isbn, retryable: false, service: 'books' });
      expect(answer?.kind).toBe('found');
    };
    record(isbn, one());
  }
  await batch.catch(() => undefined);
}

function meaningOf({ code, retryable }: SourceError): Outcome {
  if (code.endsWith('_NOT_FOUND') || code === 'MISSING') return 'unknown';
  return retryable ? code : `${code}, not retryable`;
}

/** Returns the wrong outcomes: known things that are unknown, unknown ones that are found, and errors that can't be retried. */
function lies({ outcomes, events }: Played, knows: (name: string) => boolean): readonly string[] {
  const wrong = [...outcomes].filter(([name, outcome]) => ![knows(name) ? 'found' : 'unknown', 'HEADGATE_AMBIGUOUS'].includes(outcome));
  const miscounted = events.filter(({ outcome, subject }) => outcome === 'gone' && outcomes.has(subject) && knows(subject));
  return [...wrong.map((one) => one.join(': ')), ...miscounted.map(({ subject }) => `${subject}: counted as gone`)];
}

function undecidedShare({ outcomes }: Played): number {
  return [...outcomes.values()].filter((outcome) => outcome === 'HEADGATE_AMBIGUOUS').length / outcomes.size;
}

/** Returns the ms between requests of ours that are too close for the limit, even those that were refused. */
function overruns({ service: { requests } }: Played, limit: number): readonly number[] {
  return requests.flatMap(({ atMs }, i) => {
    const apartMs = atMs - (requests[i - limit]?.atMs ?? -Infinity);
    return apartMs > SECOND_MS ? [] : [apartMs];
  });
}

/** Other programs, which send for ten minutes. */
const OTHERS: Record<string, (random: () => number, limit: number) => (atMs: number) => number> = {
  'at random times, seldom': (random, limit) => () => (-Math.log(1 - random()) * 3_000) / limit,
  'at random times, near saturation': (random, limit) => () => (-Math.log(1 - random()) * 400) / limit,
  periodically: (random, limit) => {
    const everyMs = (500 + 3_000 * random()) / limit;
    return () => everyMs;
  },
  'in bursts': (random, limit) => {
    const [onMs, offMs] = [1_000 + 9_000 * random(), 1_000 + 9_000 * random()];
    return (atMs) => (atMs % (onMs + offMs) < onMs ? 150 / limit : offMs);
  },
};

describe('two programs on one key', () => {
  const [isbns, unknownIsbns] = [sampleIsbns(60), sampleIsbns(90).slice(60)];
  const authors = Array.from({ length: 6 }, (_, i) => `Author ${i}`);
  const nobodies = ['Nobody', 'No one'];

  test.each(Object.entries(OTHERS))('one sends %s: nothing known is reported as unknown', async (_, other) => {
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const random = seededRandom(seed * 1_000_003);
      const limit = [1, 3, 5][seed % 3] ?? 1;
      const unknown = seed % 2 === 0 ? [...unknownIsbns.slice(0, 12), ...nobodies] : [];
      const knows = (name: string): boolean => !unknown.includes(name);
      const work = {
        books: [...isbns.slice(0, 30), ...unknown.slice(0, 6)],
        batched: [...isbns.slice(30), ...unknown.slice(6, 12)],
        authors: [...authors, ...unknown.slice(12)],
      };
      const form = FORMS[seed % FORMS.length] ?? REFUSALS.errorMessage;
      const catalogue = { knows, refusals: seed % 5 === 0 ? [REFUSALS.limit, form] : [form], isEmptyBatchUnknown: random() < 0.3 };
      const nextMs = other(random, limit);
      const played = await play({
        seed,
        limit,
        work,
        catalogue,
        other: (service, clock) => {
          const send = (): void => {
            service.take('mine');
            if (clock.monotonicMs() < 10 * MINUTE_MS) clock.schedule(nextMs(clock.monotonicMs()), send);
          };
          send();
        },
        withinMs: DAY_MS,
      });
      expect([lies(played, knows), overruns(played, limit)]).toEqual([[], []]);
      expect(undecidedShare(played)).toBeLessThan(0.1);
    }
  });
});

describe('a quota of 50 that ends amid 200 known books and 20 authors', () => {
  const isbns = sampleIsbns(230);
  const authors = Array.from({ length: 20 }, (_, i) => `Author ${i}`);

  test.each([
    ['all of them known', []],
    ['some others unknown', [...isbns.slice(200), 'Nobody', 'No one', 'Niemand']],
  ])('%s: nothing known is reported as unknown', async (_, unknown) => {
    const knows = (name: string): boolean => !unknown.includes(name);
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const limit = [5, 3, 1][seed % 3] ?? 1;
      const work = {
        books: [...isbns.slice(0, 40), ...unknown.slice(0, 6)],
        batched: [...isbns.slice(40, 200), ...unknown.slice(6, 30)],
        authors: [...authors, ...unknown.slice(30)],
      };
      const form = FORMS[seed % FORMS.length] ?? REFUSALS.errorMessage;
      const quota = (day: number): number => (day === 0 ? 50 : 100_000);
      const played = await play({ seed, limit, work, catalogue: { knows, refusals: [form], quota }, withinMs: 3 * DAY_MS });
      expect([lies(played, knows), overruns(played, limit)]).toEqual([[], []]);
      expect(undecidedShare(played)).toBeLessThan(0.1);
      expect(played.events.some(({ outcome }) => outcome === 'rate-limited')).toBe(true);
    }
  });
});

describe('what the truth costs', () => {
  const table: string[] = [];
  afterAll(() => {
    if (process.env['HEADGATE_TORTURE'] === '1') process.stdout.write(`${table.join('\n')}\n`);
  });
  const note = (what: string, counts: readonly number[]): { readonly median: number; readonly max: number } => {
    const sorted = counts.toSorted((one, other) => one - other);
    const [median = 0, max = 0] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
    table.push(`${what.padEnd(60)} median ${median.toFixed(2).padStart(6)}   max ${max.toFixed(2).padStart(6)}`);
    return { median, max };
  };
  const requestsOf = async (seed: number, work: Work, more: Partial<Play> = {}): Promise<number> => {
    const { service } = await play({ seed, limit: 1, work, catalogue: {}, withinMs: DAY_MS, ...more });
    return service.requests.length;
  };
  const nobody = (name: string): boolean => name.startsWith('Author');
  const seeds = Array.from({ length: SEEDS }, (_, i) => i + 1);
  const none: Work = { books: [], batched: [], authors: [] };

  test.each([
    [1, 1, 1],
    [9, 1, 1],
  ])('%i unknown books at once: additional requests for each', async (count, median, max) => {
    const work = { ...none, books: sampleIsbns(count) };
    const costs = await Promise.all(
      seeds.map(async (seed) => (await requestsOf(seed, work, { catalogue: { knows: nobody } })) / count - 1),
    );
    const seen = note(`unknown book, ${count} at once (maxBatch 10)`, costs);
    expect(seen.median).toBeLessThanOrEqual(median);
    expect(seen.max).toBeLessThanOrEqual(max);
  });

  test.each([
    [1, 41, 45],
    [20, 41, 45],
  ])('%i unknown authors at once: additional requests for each', async (count, median, max) => {
    const work = { ...none, authors: Array.from({ length: count }, (_, i) => `Nobody ${i}`) };
    const costs = await Promise.all(
      seeds.map(async (seed) => (await requestsOf(seed, work, { catalogue: { knows: nobody } })) / count - 1),
    );
    const seen = note(`unknown author, ${count} at once`, costs);
    expect(seen.median).toBeLessThanOrEqual(median);
    expect(seen.max).toBeLessThanOrEqual(max);
  });

  test.each<[string, Work, number]>([
    ['books', { ...none, books: sampleIsbns(60) }, 1],
    ['batches', { ...none, batched: sampleIsbns(600) }, 1],
    ['authors', { ...none, authors: Array.from({ length: 60 }, (_, i) => `Author ${i}`) }, 12],
  ])('the limit reached by %s: requests in addition to those of a service that says so with 429', async (what, work, median) => {
    const costs: number[] = [];
    for (const seed of seeds) {
      const count = async (form: Refusal): Promise<readonly [number, number]> => {
        let hits = 0;
        const random = seededRandom(seed);
        const other = (service: Catalogue, clock: VirtualClock): void => {
          const send = (): void => {
            if (service.take('mine')) hits += 1;
            clock.schedule(10 * SECOND_MS + 10 * SECOND_MS * random(), send);
            if (clock.monotonicMs() > 10 * MINUTE_MS) clock.schedule(DAY_MS, () => undefined);
          };
          send();
        };
        const played = await play({ seed, limit: 1, work, catalogue: { refusals: [form] }, other, withinMs: DAY_MS });
        return [played.service.requests.length, played.service.requests.filter(({ isRefused }) => isRefused).length];
      };
      const [[ambiguous, hits], [plain, plainHits]] = [await count(REFUSALS.errorMessage), await count(REFUSALS.limit)];
      costs.push((ambiguous - plain) / Math.max(1, plainHits, hits === 0 ? 1 : 0));
    }
    expect(note(`limit reached, by ${what}`, costs).median).toBeLessThanOrEqual(median);
  });
});
