import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, type ContextManager, ROOT_CONTEXT, context, trace } from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import type { TopicLog, TopicRecord } from '@headgate/topics';
import { afterEach, expect, it } from 'vitest';
import { catalogue, catalogueService } from '../testing/catalogue.fixture.ts';
import type { RunEvent } from './events.ts';
import { shelves, shelvesApi, workedOff } from '../testing/shelves.fixture.ts';
import { start } from '../run/start.ts';
import { temporaryLog } from '../testing/temporary-log.fixture.ts';
import { lookup } from '../jobs/lookup.ts';

afterEach(() => trace.disable());

function registered(more: ConstructorParameters<typeof BasicTracerProvider>[0] = {}): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ ...more, spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  return exporter;
}

async function recordsOf(log: TopicLog, topic: string): Promise<TopicRecord[]> {
  return await Array.fromAsync(log.read({ topic }));
}

/** Walks a shelf of three pages, and one that doesn't exist. */
async function walked(log: TopicLog): Promise<RunEvent[]> {
  await using service = await catalogueService({ items: { a: 7 } });
  const events: RunEvent[] = [];
  const pipelines = [catalogue()({ baseUrl: service.baseUrl, token: 'a-token', shelves: ['a', 'nowhere'] })];
  await using running = await start({ log, pipelines, env: {}, onEvent: (event) => void events.push(event) });
  expect((await running.done).outcome).toBe('done');
  return events;
}

const named = (spans: readonly ReadableSpan[], name: string, key: string): ReadableSpan[] =>
  spans.filter((span) => span.name === name && [span.attributes['headgate.key'], span.attributes['headgate.subject']].includes(key));
const traceparent = (span: ReadableSpan | undefined): string => `00-${span?.spanContext().traceId}-${span?.spanContext().spanId}-01`;

it('records a span of each walk, of its attempts and its transactions, and names the walk in its records', async () => {
  await using place = await temporaryLog();
  const { log } = place;
  const exporter = registered();
  const events = await walked(log);
  const spans = exporter.getFinishedSpans();
  const [walk, ...others] = named(spans, 'catalogue request', 'a');
  expect(others).toEqual([]);
  expect(walk?.attributes).toEqual({
    'headgate.pipeline': 'catalogue',
    'headgate.lane': 0,
    'headgate.key': 'a',
    'headgate.request': 'catalogue.requests-0-0',
    'headgate.page': 1,
  });
  expect([walk?.status.code, walk?.parentSpanContext]).toEqual([0, undefined]);
  const attempts = named(spans, 'catalogue attempt', 'a');
  const about = { 'headgate.credential': 'token', 'headgate.outcome': 'ok', 'http.response.status_code': 200 };
  expect(attempts.map(({ attributes }) => attributes)).toEqual([1, 2, 3].map(() => expect.objectContaining(about) as object));
  expect(attempts.map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual([1, 2, 3].map(() => walk?.spanContext().spanId));
  // A transaction of several requests has links instead of a parent.
  const of = (span: ReadableSpan) => [span.parentSpanContext, ...span.links.map(({ context }) => context)];
  const transactions = spans.filter(({ name }) => name === 'catalogue transaction');
  // Each page names the walk once. Two pages share a transaction if the one before takes long.
  expect(transactions.flatMap(of).filter((context) => context?.spanId === walk?.spanContext().spanId)).toHaveLength(3);

  const [lost] = named(spans, 'catalogue request', 'nowhere');
  expect([lost?.status, lost?.attributes['error.type']]).toEqual([{ code: 2, message: 'There is no shelf nowhere.' }, 'HEADGATE_NO_SHELF']);
  expect(named(spans, 'catalogue attempt', 'nowhere')[0]?.status.code).toBe(2);
  const records = await recordsOf(log, 'catalogue.records');
  expect(records.map(({ headers }) => headers['traceparent'])).toEqual(Array.from({ length: 7 }, () => traceparent(walk)));
  expect(records[0]?.headers['ce_id']).toBe('catalogue.requests-0-0/1');
  const [deadLetter] = await recordsOf(log, 'catalogue.dead-letters');
  expect(deadLetter?.headers['traceparent']).toBe(traceparent(lost));
  // Displays write events as JSON, which must not contain the object of the walk.
  expect(JSON.stringify(events)).not.toContain('"walk":');
});

it('links requests to the span of the caller of enqueue', async () => {
  await using place = await temporaryLog();
  registered();
  await using service = await catalogueService({ items: { a: 1 } });
  const pipeline = catalogue()({ baseUrl: service.baseUrl, token: 'a-token' });
  await using running = await start({ log: place.log, pipelines: [pipeline], follow: true, env: {} });
  const active = new AsyncLocalStorage<Context>();
  const contexts: ContextManager = {
    active: () => active.getStore() ?? ROOT_CONTEXT,
    with: (of, call, self, ...args) => active.run(of, () => call.call(self as ThisParameterType<typeof call>, ...args)),
    bind: (_, target) => target,
    enable: () => contexts,
    disable: () => contexts,
  };
  context.setGlobalContextManager(contexts);
  try {
    const ids = await trace.getTracer('test').startActiveSpan('post', async (span) => {
      const [first] = await running.enqueue(pipeline, [{ shelf: 'a' }]);
      return [first, traceparent(span as unknown as ReadableSpan)];
    });
    const without = await running.enqueue(pipeline, [{ shelf: 'a' }]);
    const records = await recordsOf(place.log, 'catalogue.requests');
    const found = records.map(({ partition, offset, headers }) => [`catalogue.requests-${partition}-${offset}`, headers['traceparent']]);
    expect(found).toEqual([ids, [without[0], undefined]]);
  } finally {
    context.disable();
  }
});

it('records one span for keys that are looked up together', async () => {
  await using place = await temporaryLog();
  const { log } = place;
  const exporter = registered();
  const api = shelvesApi();
  const pipeline = shelves(() =>
    lookup({
      source: api,
      key: ({ shelf }) => shelf,
      query: (source, keys, options) => source.find(keys, options),
      size: 2,
      records: (answers: string[], { topics }) => ({
        records: answers.map((item, index) => ({ index, record: topics.records({ key: item, value: { item } }) })),
      }),
    }),
  );
  await workedOff(log, pipeline, ['a', 'b']);
  const spans = exporter.getFinishedSpans();
  expect(spans.map(({ name }) => name)).toEqual(['shelves transaction', 'shelves request']);
  const [transaction, request] = spans;
  expect(request?.attributes).toEqual({ 'headgate.pipeline': 'shelves', 'headgate.lane': 0, 'headgate.keys': 2 });
  expect(transaction?.parentSpanContext?.spanId).toBe(request?.spanContext().spanId);
  const parents = (await recordsOf(log, 'shelves.records')).map(({ headers }) => headers['traceparent']);
  expect(parents).toEqual([traceparent(request), traceparent(request)]);
});

it.each([
  ['no SDK is registered', () => undefined],
  ['the SDK leaves the trace out', () => void registered({ sampler: new AlwaysOffSampler() })],
])('writes records as ever where %s', async (_, register) => {
  register();
  await using place = await temporaryLog();
  await walked(place.log);
  const records = [...(await recordsOf(place.log, 'catalogue.records')), ...(await recordsOf(place.log, 'catalogue.dead-letters'))];
  expect(records).toHaveLength(8);
  for (const { headers } of records) expect(Object.keys(headers).filter((name) => !name.startsWith('ce_'))).toEqual(['content-type']);
});
