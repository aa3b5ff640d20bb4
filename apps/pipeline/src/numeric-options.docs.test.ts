import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bearer } from '@headgate/auth';
import { boundaryDuplicates, crawlChanges } from '@headgate/operators';
import { cancelJobs, definePipeline, forecast, leftToDo, lookup, start, topic } from '@headgate/pipeline';
import { cutLog } from '@headgate/pipeline/testing';
import { startBooks, startFollowers } from '@headgate/sandbox';
import { budgetEvidence, defineSource, offsets, pageNumbers, refusalWaitMs, requestAllowance } from '@headgate/sources';
import { authorPaging, books } from '@headgate/sources/books';
import { followersPaging } from '@headgate/sources/followers';
import {
  admission,
  creditPool,
  credentialPool,
  dailyBudget,
  drain,
  gather,
  limiter,
  mergePages,
  monthlyBudget,
  rateBudget,
  refused,
  retryAfterMs,
} from '@headgate/throttle';
import { virtualClock } from '@headgate/throttle/testing';
import { partitionForKey } from '@headgate/topics';
import { kafkaTopicLog } from '@headgate/topics/kafka';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { NEVER, of } from 'rxjs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { statusHandler } from './status/status-handler.ts';

/** A function that gets a number as one option. Plain JavaScript and JSON can pass anything instead. */
// oxlint-disable-next-line typescript/no-explicit-any -- the table passes values that the types forbid.
type Use = (value: any) => unknown;
/** Values that are no number for any option, and one that some options take. */
const NEVER_VALID: readonly unknown[] = ['1000', Number.NaN, null, {}, [], true, 1n];
type Takes = 'a negative number' | 'Infinity';

const REPORTS = fileURLToPath(new URL('../../../docs/api/', import.meta.url));
/** Types that users pass. A new one needs a name that ends in one of these words. */
const PASSED = /(?:Options|Definition|Spec|Limit|Quota|Walk|Retention|Paging|User|Fault|FaultPlace|Latency)$/;

/** Every member that is a number in a type that users pass, from the reports of what the packages export. */
function numericOptions(): readonly string[] {
  const found = new Set<string>();
  for (const file of globSync('*/*.api.md', { cwd: REPORTS })) {
    if (file.endsWith('internal.api.md')) continue;
    const name = file.split(/[/\\]/)[0];
    let type = '';
    for (const line of readFileSync(join(REPORTS, file), 'utf8').split('\n')) {
      if (line.startsWith('export ')) type = /^export (?:interface|type) (\w+)/.exec(line)?.[1] ?? '';
      const member = /^\s+readonly (\w+)\??: ([^=]*\bnumber\b[^=]*);$/.exec(line);
      if (member !== null && PASSED.test(type) && !member[2]?.includes('Record<')) found.add(`${name} ${type}.${member[1]}`);
    }
  }
  return [...found].toSorted();
}

const source = defineSource<string, string>({
  service: 'toy',
  toRequest: (path) => ({ path }),
  classify: () => ({ kind: 'transient', reason: 'never requested' }),
});
const base = { baseUrl: 'http://127.0.0.1:1', credentials: [{ name: 'a', signer: bearer('t') }], limit: { requests: 1, windowMs: 1_000 } };
const paging = { first: 1, query: String, next: () => 'last' as const };
const walked = (given: object, options = {}) => source(base).pages({ ...paging, ...given }, options);
const budget = () => rateBudget({ limit: 1, windowMs: 1_000 });
const pool = () => credentialPool({ members: [{ name: 'a', budgets: [budget()] }] });
const acquire = (options: object) => admission({ pool: pool() }).acquire({ credits: creditPool({ max: 1 }), items: 1, ...options });
const run = (options: object) => limiter({ budgets: [budget()] }).run(() => Promise.resolve(), options);
const reader = () => ({ read: () => Promise.resolve(undefined) });
const pipeline = definePipeline({
  name: 'toy',
  options: z.strictObject({}),
  request: z.string(),
  topics: {},
  keyOf: String,
  open: () => {
    throw new Error('was not refused');
  },
});
const pipelines = [pipeline({})];
const ids = { before: () => [], after: () => [] };
const answer = {
  status: 429,
  headers: { 'retry-after': 'Thu, 01 Jan 2026 00:00:00 GMT', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1767225600' },
};
const fault = (given: object) => startFollowers({ faults: [given as { name: '429' }] });
const user = (given: object) => startFollowers({ users: { alpha: { followers: 1, ...given } } });

let folder: string;
let log: Awaited<ReturnType<typeof sqliteTopicLog>>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-numbers-'));
  log = await sqliteTopicLog({ file: join(folder, 'log.db') });
  await log.createTopics([{ name: 'there', partitions: 1 }]);
});
afterAll(async () => {
  await log.close();
  await rm(folder, { recursive: true });
});
const sqlite = async (options: object) => await (await sqliteTopicLog({ file: join(folder, 'other.db'), ...options })).close();
const kafka = async (options: object) => await (await kafkaTopicLog({ brokers: [], ...options })).close();
const create = (given: object) => log.createTopics([{ name: 'new', partitions: 1, ...given }]);
const read = async (options: object) => await Array.fromAsync(log.read({ topic: 'there', ...options }));

const TABLE: Readonly<Record<string, readonly [use: Use, takes?: Takes]>> = {
  'headgate StatusHandlerOptions.lanes': [
    (lanes) => statusHandler({ events: NEVER, done: new Promise(() => undefined) } as never, { pipelines, lanes }),
  ],
  'operators BoundaryDuplicatesOptions.maxOverlap': [(maxOverlap) => boundaryDuplicates({ maxOverlap })],
  'operators CrawlChangesOptions.maxBytes': [(maxBytes) => crawlChanges({ ...ids, maxBytes })],
  'pipeline CancelJobsOptions.lanes': [(lanes) => cancelJobs({ log, pipeline: pipelines[0] as never, key: 'k', lanes })],
  'pipeline CutLogOptions.at': [(at) => cutLog(log, { at, isDurable: false }), 'Infinity'],
  'pipeline ForecastOptions.now': [(now) => forecast([], { now }), 'a negative number'],
  'pipeline ForecastOptions.requestMs': [(requestMs) => forecast([], { now: 0, requestMs })],
  'pipeline LeftToDoOptions.lanes': [(lanes) => leftToDo({ log, pipelines, lanes })],
  'pipeline LookupDefinition.maxWaitMs': [(maxWaitMs) => lookup({ size: 1, maxWaitMs } as never)],
  'pipeline LookupDefinition.size': [(size) => lookup({ size } as never)],
  'pipeline PipelineDefinition.maxOutstanding': [(maxOutstanding) => definePipeline({ ...pipeline.definition, maxOutstanding } as never)],
  'pipeline StartOptions.lanes': [(lanes) => start({ log, pipelines, lanes })],
  'pipeline StartOptions.maxRequests': [(maxRequests) => start({ log, pipelines, maxRequests })],
  'pipeline TopicDefinition.partitions': [(partitions) => topic({ value: z.string(), partitions })],
  'sandbox BooksSandboxOptions.maxBatch': [(maxBatch) => startBooks({ maxBatch })],
  'sandbox BooksSandboxOptions.port': [(port) => startBooks({ port })],
  'sandbox BooksSandboxOptions.seed': [(seed) => startBooks({ seed }), 'a negative number'],
  'sandbox DailyQuotaOptions.isbns': [(isbns) => startBooks({ dailyQuota: { isbns } })],
  'sandbox Fault.bytes': [(bytes) => fault({ name: 'oversize', bytes })],
  'sandbox Fault.intervalMs': [(intervalMs) => fault({ name: 'drip', intervalMs })],
  'sandbox Fault.minutes': [(minutes) => fault({ name: 'clock-skew', minutes }), 'a negative number'],
  'sandbox Fault.retryAfterMs': [(retryAfterMs) => fault({ name: '429', retryAfterMs })],
  'sandbox FaultPlace.at': [(at) => fault({ name: '429', at })],
  'sandbox FaultPlace.times': [(times) => fault({ name: '429', times }), 'Infinity'],
  'sandbox FollowersSandboxOptions.port': [(port) => startFollowers({ port })],
  'sandbox FollowersSandboxOptions.seed': [(seed) => startFollowers({ seed }), 'a negative number'],
  'sandbox FollowersUser.followers': [(followers) => user({ followers: Array.isArray(followers) ? ['x'] : followers })],
  'sandbox FollowersUser.pageSize': [(pageSize) => user({ pageSize })],
  'sandbox FollowersUser.shiftEvery': [(shiftEvery) => user({ shiftEvery }), 'Infinity'],
  'sandbox FollowersUser.suspendedShare': [(suspendedShare) => user({ suspendedShare })],
  'sandbox Latency.max': [(max) => startBooks({ latencyMs: { min: 0, max } })],
  'sandbox Latency.min': [(min) => startBooks({ latencyMs: { min, max: 5_000 } })],
  'sandbox WindowOptions.limit': [(limit) => startBooks({ window: { limit } })],
  'sandbox WindowOptions.windowMs': [(windowMs) => startBooks({ window: { windowMs } })],
  'sources AuthorOptions.page': [(page) => books({ baseUrl: 'http://127.0.0.1:1', key: 'k' }).author('a', { page })],
  'sources AuthorOptions.pageSize': [(pageSize) => books({ baseUrl: 'http://127.0.0.1:1', key: 'k' }).author('a', { pageSize })],
  'sources AuthorWalk.maxPages': [(maxPages) => authorPaging('a', { maxPages })],
  'sources AuthorWalk.page': [(page) => authorPaging('a', { page })],
  'sources AuthorWalk.pageSize': [(pageSize) => authorPaging('a', { pageSize })],
  'sources BooksOptions.batchWaitMs': [(batchWaitMs) => books({ baseUrl: 'http://127.0.0.1:1', key: 'k', batchWaitMs })],
  'sources BooksOptions.maxBatch': [(maxBatch) => books({ baseUrl: 'http://127.0.0.1:1', key: 'k', maxBatch })],
  'sources BudgetEvidenceOptions.epochMs': [(epochMs) => budgetEvidence({ head: answer, epochMs }), 'a negative number'],
  'sources DailyQuota.isbns': [(isbns) => books({ baseUrl: 'http://127.0.0.1:1', key: 'k', maxBatch: 1, perDay: { isbns } })],
  'sources FollowersWalk.count': [(count) => followersPaging({ screenName: 'a', count })],
  'sources FollowersWalk.maxEmptyPages': [(maxEmptyPages) => followersPaging({ screenName: 'a', maxEmptyPages })],
  'sources Limit.requests': [(requests) => source({ ...base, limit: { requests, windowMs: 1 } })],
  'sources Limit.windowMs': [(windowMs) => source({ ...base, limit: { requests: 1, windowMs } })],
  'sources OffsetsOptions.first': [(first) => offsets({ query: String, items: () => 1, first })],
  'sources PageNumbersOptions.first': [(first) => pageNumbers({ query: String, isLast: () => true, first }), 'a negative number'],
  'sources Paging.maxEmptyPages': [(maxEmptyPages) => walked({ maxEmptyPages }), 'Infinity'],
  'sources Paging.maxPages': [(maxPages) => walked({ maxPages }), 'Infinity'],
  'sources Quota.requests': [(requests) => source({ ...base, budgets: { day: { requests, per: 'day' } } })],
  'sources Quota.resetsOn': [(resetsOn) => source({ ...base, budgets: { month: { requests: 1, per: 'month', resetsOn } } })],
  'sources RefusalWaitOptions.epochMs': [
    (epochMs) => refusalWaitMs({ answer: { ...answer, body: Buffer.alloc(0) }, epochMs }),
    'a negative number',
  ],
  'sources RequestAllowanceOptions.max': [(max) => requestAllowance({ max, onUsedUp: () => undefined })],
  'sources SourceOptions.concurrency': [(concurrency) => source({ ...base, concurrency }), 'Infinity'],
  'sources SourceOptions.maxBodyBytes': [(maxBodyBytes) => source({ ...base, maxBodyBytes })],
  'sources SourceOptions.maxDelayMs': [(maxDelayMs) => source({ ...base, maxDelayMs })],
  'sources SourceOptions.retryForMs': [(retryForMs) => source({ ...base, retryForMs }), 'Infinity'],
  'sources SourceOptions.stopAfterFailures': [(stopAfterFailures) => source({ ...base, stopAfterFailures }), 'Infinity'],
  'sources SourceOptions.timeoutMs': [(timeoutMs) => source({ ...base, timeoutMs })],
  'throttle AcquireOptions.items': [(items) => acquire({ items })],
  'throttle AcquireOptions.rank': [(rank) => acquire({ rank }), 'a negative number'],
  'throttle AcquireOptions.weights': [(weight) => acquire({ weights: [weight] })],
  'throttle CreditPoolOptions.max': [(max) => creditPool({ max }), 'Infinity'],
  'throttle DailyBudgetOptions.guardMs': [(guardMs) => dailyBudget({ limit: 1, guardMs })],
  'throttle DailyBudgetOptions.limit': [(limit) => dailyBudget({ limit })],
  'throttle DrainOptions.concurrency': [(concurrency) => drain(reader, of, { concurrency }), 'Infinity'],
  'throttle DrainOptions.maxOutstanding': [(maxOutstanding) => drain(reader, of, { maxOutstanding }), 'Infinity'],
  'throttle DrainOptions.readAhead': [(readAhead) => drain(reader, of, { readAhead }), 'Infinity'],
  'throttle GatherOptions.maxWaitMs': [(maxWaitMs) => gather({ size: 1, maxWaitMs })],
  'throttle GatherOptions.size': [(size) => gather({ size, maxWaitMs: 1 })],
  'throttle LimiterOptions.concurrency': [(concurrency) => limiter({ budgets: [budget()], concurrency }), 'Infinity'],
  'throttle LimiterOptions.maxQueue': [(maxQueue) => limiter({ budgets: [budget()], maxQueue }), 'Infinity'],
  'throttle MergePagesOptions.maxOutstanding': [(maxOutstanding) => mergePages([], { maxOutstanding }), 'Infinity'],
  'throttle MonthlyBudgetOptions.resetsOn': [(resetsOn) => monthlyBudget({ limit: 1, resetsOn })],
  'throttle RateBudgetOptions.guardMs': [(guardMs) => rateBudget({ limit: 1, windowMs: 1, guardMs })],
  'throttle RateBudgetOptions.limit': [(limit) => rateBudget({ limit, windowMs: 1 })],
  'throttle RateBudgetOptions.maxDelayMs': [(maxDelayMs) => rateBudget({ limit: 1, windowMs: 1, maxDelayMs })],
  'throttle RateBudgetOptions.windowMs': [(windowMs) => rateBudget({ limit: 1, windowMs })],
  'throttle RefusedOptions.retryInMs': [(retryInMs) => refused({ retryInMs })],
  'throttle RetryAfterOptions.epochMs': [(epochMs) => retryAfterMs({ ...answer, epochMs }), 'a negative number'],
  'throttle RunOptions.weight': [(weight) => run({ weight: Array.isArray(weight) ? [null] : weight })],
  'throttle VirtualClockOptions.epochMs': [(epochMs) => virtualClock({ epochMs }), 'a negative number'],
  'topics KafkaTopicLogOptions.handoverMs': [(handoverMs) => kafka({ handoverMs })],
  'topics KafkaTopicLogOptions.replication': [(replication) => kafka({ replication })],
  'topics KafkaTopicLogOptions.sessionTimeoutMs': [(sessionTimeoutMs) => kafka({ sessionTimeoutMs })],
  'topics KafkaTopicLogOptions.transactionTimeoutMs': [(transactionTimeoutMs) => kafka({ transactionTimeoutMs })],
  'topics NewTopicSpec.minRecordBytes': [(minRecordBytes) => create({ minRecordBytes })],
  'topics NewTopicSpec.usualRecordBytes': [(usualRecordBytes) => create({ usualRecordBytes })],
  'topics ReadOptions.from': [(from) => read({ from: Array.isArray(from) ? ['0'] : from })],
  'topics ReadOptions.partitions': [(partition) => read({ partitions: [partition] })],
  'topics SqliteRetention.maxAgeMs': [(maxAgeMs) => sqlite({ retention: { maxAgeMs } }), 'Infinity'],
  'topics SqliteTopicLogOptions.busyTimeoutMs': [(busyTimeoutMs) => sqlite({ busyTimeoutMs })],
  'topics SqliteTopicLogOptions.maxFileBytes': [(maxFileBytes) => sqlite({ maxFileBytes }), 'Infinity'],
  'topics SqliteTopicLogOptions.pollMs': [(pollMs) => sqlite({ pollMs })],
  'topics SqliteTopicLogOptions.tombstoneRetentionMs': [(tombstoneRetentionMs) => sqlite({ tombstoneRetentionMs }), 'Infinity'],
  'topics TopicSpec.partitions': [(partitions) => create({ partitions })],
};

/** Options that need no check of their own, and why. */
const EXEMPT: Readonly<Record<string, string>> = {
  'pipeline CommonOptions.every': 'a schema reads it, as text or a number',
  'pipeline CommonOptions.maxOutstanding': 'a schema reads it',
  'pipeline CommonOptions.stopAfterFailures': 'a schema reads it',
  'pipeline CommonOptions.unwrittenPages': 'a schema reads it',
  'pipeline PipelineContractOptions.seeds': 'seeds of a test, where any number will do',
  'sources SourceErrorOptions.status': 'only shown',
  'topics RecordLimit.bytes': 'a result',
  'topics RecordLimit.value': 'a result',
};

const ERRORS: Readonly<Record<string, object>> = {
  headgate: { name: 'RangeError' },
  operators: { code: 'HEADGATE_INVALID_OPTION' },
  pipeline: { code: expect.stringMatching(/^HEADGATE_(?:INVALID_OPTION|DEFINITION)$/) },
  sandbox: { code: expect.stringMatching(/^HEADGATE_(?:SANDBOX_OPTION|KAFKA_BROKER)$/) },
  sources: { code: 'HEADGATE_INVALID_OPTION' },
  throttle: { name: 'RangeError' },
  topics: {},
};

test('every numeric option of the packages is in the table', () => {
  expect([...Object.keys(TABLE), ...Object.keys(EXEMPT)].toSorted()).toEqual(numericOptions());
});

describe.each(Object.entries(TABLE))('%s', (option, [use, takes]) => {
  const wrong = [...NEVER_VALID, ...(takes === 'a negative number' ? [] : [-1]), ...(takes === 'Infinity' ? [-Infinity] : [Infinity])];
  test.each(wrong.map((value) => [value]))('refuses %s by its name', async (value) => {
    const error: unknown = await (async () => await use(value))().then(
      () => 'it was accepted',
      (thrown: unknown) => thrown,
    );
    const [name = '', member = ''] = option.replace(/\s\w+\./, ' ').split(' ');
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject(RANGE.has(option) ? { name: 'RangeError' } : (ERRORS[name] ?? {}));
    expect(String(error)).toContain(member.replace(/s$/, ''));
  });
});

/** Functions of sources without a service to name in a `SourceError`. */
const RANGE: ReadonlySet<string> = new Set([
  'sources BudgetEvidenceOptions.epochMs',
  'sources OffsetsOptions.first',
  'sources PageNumbersOptions.first',
  'sources RefusalWaitOptions.epochMs',
  'sources RequestAllowanceOptions.max',
  'pipeline CutLogOptions.at',
]);

test.each<[string, Use]>([
  ['weight', (weight) => budget().freeAt(weight)],
  ['weight', (weight) => budget().take(weight)],
  ['untilMs', (untilMs) => budget().holdUntil(untilMs)],
  ['number of items', (items) => creditPool({ max: 1 }).reserve(items)],
  ['number of items', (items) => creditPool({ max: 1 }).reserve(1).resize(items)],
  ['partitions', (partitions) => partitionForKey('k', partitions)],
  ['partition', (partition) => log.append([{ topic: 'there', key: 'k', value: 'v', partition }])],
  ['time to advance', (ms) => virtualClock().advance(ms)],
  ['busy slot', (ms) => budget().restore({ windowMs: 1_000, busy: [[ms, 1]] })],
  ['leaseMs', (lease) => rateBudget({ limit: 1, windowMs: 1, leaseMs: () => lease })],
  ['items', (items) => offsets({ query: String, items: () => items }).next('page', 0)],
  ['total', (total) => offsets({ query: String, items: () => 1, total: () => total }).next('page', 0)],
])('a number that is an argument or a result is one, too: %s', async (name, use) => {
  for (const value of ['1', Number.NaN, null, {}]) {
    await expect((async () => await use(value))()).rejects.toThrow(name);
  }
});
