import { SourceError } from '@headgate/sources';
import { virtualClock } from '@headgate/throttle/testing';
import type { LaneWriter, TopicLog } from '@headgate/topics';
import { describe, expect, it, test } from 'vitest';
import {
  type ItemsPage,
  type Shelf,
  type ShelfQuery,
  type ShelvesPipeline,
  shelfPaging,
  shelves,
  shelvesApi,
  type shelvesTopics,
  valuesOf,
} from '../testing/shelves.fixture.ts';
import type { RunEvent } from '../events/events.ts';
import { type StartOptions, start } from './start.ts';
import { logWith, temporaryLog } from '../testing/temporary-log.fixture.ts';
import type { Processor } from '../definition/processor.ts';
import { walk } from '../jobs/walk.ts';
import { MAX_IN_WORK } from '../jobs/walk-work.ts';

function walking(api = shelvesApi()): Processor<Shelf, typeof shelvesTopics> {
  return walk<ShelfQuery, ItemsPage, number, Shelf, typeof shelvesTopics>({
    source: api,
    paging: shelfPaging,
    records: ({ shelf, items }, { topics }) => items.map((item) => topics.records({ key: shelf, value: { item } })),
  });
}

const pipeline = (): ShelvesPipeline => shelves(() => walking());
const itemsOf = async (log: TopicLog, topic = 'shelves.records'): Promise<string[]> =>
  (await valuesOf<{ item: string }>(log, topic)).map(({ item }) => item).sort();
const wanted = (...names: string[]): string[] => names.flatMap((shelf) => [0, 1, 2, 3, 4].map((i) => `${shelf}-${i}`));

/** Throws if a lane of the run is still held. */
async function takeEveryLane(log: TopicLog, { group = 'headgate', prefix = '' } = {}): Promise<void> {
  const lanes = [
    { name: `${group}.${prefix}shelves.requests.0`, state: { topic: `${prefix}shelves.state`, partition: 0 }, onlyIfFree: true },
    { name: `${group}.request-list`, state: { topic: `${prefix}headgate.state`, partition: 0 }, onlyIfFree: true },
  ];
  for (const lane of lanes) await (await log.openLane(lane)).close();
}

/**
 * Returns the errors of a run. None if the run was stopped before it had its lanes, in which case `start` rejects with the signal's reason.
 */
async function failuresOf(options: StartOptions): Promise<readonly unknown[]> {
  try {
    await using running = await start(options);
    return (await running.done).failures;
  } catch (error) {
    return error === options.signal?.reason ? [] : [error];
  }
}

test.each([false, true])(
  'stopped at any moment it leaves no lane held and no timer, and the next run continues (follow: %s)',
  async (follow) => {
    const moments = 14;
    // All runs share one log, because starting the thread of a log takes longer than a run.
    await using place = await temporaryLog();
    const { log } = place;
    for (let moment = 0; moment <= moments; moment += 1) {
      const group = `group-${moment}`;
      const topics = { prefix: `${group}.` };
      const clock = virtualClock();
      const stop = new AbortController();
      let events = 0;
      const happened = (): void => {
        if (events === moment) stop.abort();
        events += 1;
      };
      if (moment === moments) setTimeout(() => stop.abort(), 200);
      const failures = await failuresOf({
        log,
        group,
        topics,
        pipelines: [pipeline()({ shelves: ['a', 'b'], every: '1h' })],
        follow,
        clock,
        signal: stop.signal,
        onEvent: happened,
      });
      expect({ moment, failures, pending: clock.pending }).toEqual({ moment, failures: [], pending: 0 });
      await takeEveryLane(log, { group, ...topics });
      await using rest = await start({ log, group, topics, pipelines: [pipeline()({ shelves: ['a', 'b'] })], clock });
      expect((await rest.done).outcome).toBe('done');
      expect(await itemsOf(log, `${topics.prefix}shelves.records`)).toEqual(wanted('a', 'b'));
    }
  },
);

test('a run that is stopped during a request holds no lane and leaves no timer', async () => {
  await using place = await temporaryLog();
  const { log } = place;
  const clock = virtualClock();
  const asked = Promise.withResolvers<void>();
  const silent = shelvesApi({
    onPage() {
      asked.resolve();
      return new Promise(() => undefined);
    },
  });
  const running = await start({ log, pipelines: [shelves(() => walking(silent))({ shelves: ['a'] })], clock });
  await asked.promise;
  const stopped = running.stop();
  await expect.poll(() => clock.pending).toBeGreaterThan(1);
  // Maximum time that a stop waits for work in flight.
  await clock.advance(8_000);
  expect(await stopped).toMatchObject({ outcome: 'stopped', failures: [] });
  expect(clock.pending).toBe(0);
  await takeEveryLane(log);
});

test('a stop ends after 9.5 s, or at its deadline, even if its lane and its group do not respond', async () => {
  for (const isGiven of [false, true]) {
    await using place = await temporaryLog();
    const clock = virtualClock();
    const asked = Promise.withResolvers<void>();
    const silent = shelvesApi({
      onPage() {
        asked.resolve();
        return new Promise(() => undefined);
      },
    });
    const lanes: LaneWriter[] = [];
    const log = logWith(place.log, {
      async openLane(spec) {
        const lane = await place.log.openLane(spec);
        if (!spec.name.includes('list')) lanes.push(Object.assign(lane, { close: never }));
        return lane;
      },
      joinGroup: async (options) => Object.assign(await place.log.joinGroup(options), { leave: never }),
    });
    const [written, closed] = [new AbortController(), new AbortController()];
    const deadline = { written: written.signal, closed: closed.signal };
    const pipelines = [shelves(() => walking(silent))({ shelves: ['a'] })];
    const running = await start({ log, pipelines, clock, ...(isGiven && { deadline }) });
    await asked.promise;
    let isOver = false;
    const stopped = running.stop().finally(() => (isOver = true));
    const abortBoth = async (): Promise<void> => {
      written.abort();
      await expect.poll(() => clock.pending).toBe(1);
      closed.abort();
    };
    const passLimits = async (): Promise<void> => {
      await clock.advance(9_499);
      expect(isOver).toBe(false);
      await clock.advance(1);
    };
    await expect.poll(() => clock.pending).toBeGreaterThan(1);
    await (isGiven ? abortBoth() : passLimits());
    expect(await stopped).toMatchObject({ outcome: 'stopped', failures: [] });
    expect(clock.pending).toBe(0);
    // Restore the real `close`, with which the log closes its lanes.
    for (const lane of lanes) Reflect.deleteProperty(lane, 'close');
  }
});

const never = (): Promise<never> => new Promise(() => undefined);

test.each<readonly [what: string, methods: (log: TopicLog, hang: () => Promise<never>) => Partial<TopicLog>]>([
  ['the group', (_, hang) => ({ joinGroup: hang })],
  ['the log, which opens a lane,', (_, hang) => ({ recordLimit: hang })],
  [
    'the log, which reads the markers of a list,',
    (log, hang) => ({ readState: (topic, partition) => (topic === 'headgate.state' ? hang() : log.readState(topic, partition)) }),
  ],
  [
    'the log, which writes a list,',
    (log, hang) => ({
      async openLane(spec) {
        const lane = await log.openLane(spec);
        return spec.name.includes('list') ? Object.assign(lane, { transaction: hang }) : lane;
      },
    }),
  ],
])('start rejects with the reason of a stop, even if %s does not respond', async (_, methods) => {
  await using place = await temporaryLog();
  const clock = virtualClock();
  const stop = new AbortController();
  const asked = Promise.withResolvers<void>();
  const hang = (): Promise<never> => {
    asked.resolve();
    return never();
  };
  const log = logWith(place.log, methods(place.log, hang));
  let failure: unknown;
  start({ log, pipelines: [pipeline()({ shelves: ['a'] })], clock, signal: stop.signal }).catch((error: unknown) => (failure = error));
  await asked.promise;
  const reason = new Error('enough');
  stop.abort(reason);
  await clock.advance(9_500);
  await expect.poll(() => failure).toBe(reason);
  expect(clock.pending).toBe(0);
});

test('a request in flight when the last credential is refused still gets its response, which is written', async () => {
  await using place = await temporaryLog();
  const { log } = place;
  const clock = virtualClock();
  const answer = Promise.withResolvers<void>();
  const refused = new SourceError({
    code: 'HEADGATE_REJECTED',
    message: 'refused',
    retryable: false,
    service: 'shelves',
    endsSource: true,
  });
  const api = shelvesApi({
    async onPage(page) {
      if (page === 'a 0') await answer.promise;
      else throw refused;
    },
  });
  const running = await start({ log, pipelines: [shelves(() => walking(api))({ shelves: ['a', 'b', 'c'] })], clock });
  await expect.poll(() => api.requested.toSorted()).toEqual(['a 0', 'b 0', 'c 0']);
  await clock.advance(7_000);
  answer.resolve();
  expect((await running.done).failures).toEqual([refused]);
  expect(await itemsOf(log)).toEqual(['a-0', 'a-1']);
});

describe('a problem is reported before any lane is taken:', () => {
  const listing = pipeline()({ shelves: ['a'] });
  it.each([
    ['no pipeline', { pipelines: [] }, /there is no pipeline to run/],
    ['two of one name', { pipelines: [listing, listing] }, /two pipelines are named shelves/],
    ['no lane', { pipelines: [listing], lanes: 0 }, /lanes must be a whole number from 1, got 0/],
    ['half a lane', { pipelines: [listing], lanes: 1.5 }, /got 1\.5/],
    [
      'fewer credentials than lanes',
      { pipelines: [{ ...listing, credentials: ['one'] }], lanes: 2 },
      /shelves has 1 credentials, but each of 2 lanes needs one/,
    ],
  ])('%s', async (_, options, says) => {
    await using place = await temporaryLog();
    await expect(start({ log: place.log, ...options })).rejects.toThrow(
      expect.objectContaining({ code: 'HEADGATE_INVALID_OPTION', message: expect.stringMatching(says) as string }),
    );
    expect(await place.log.listTopics()).toEqual([]);
  });
});

test('start fails if a listed request has no key, and releases everything', async () => {
  await using place = await temporaryLog();
  const clock = virtualClock();
  const keyless = shelves(
    () => walking(),
    () => {
      throw new TypeError('no key');
    },
  );
  await expect(start({ log: place.log, pipelines: [keyless({ shelves: ['a'] })], clock })).rejects.toThrow('no key');
  expect(clock.pending).toBe(0);
  await takeEveryLane(place.log);
});

test('start fails if the worker of a lane can’t be opened, and releases everything', async () => {
  await using place = await temporaryLog();
  const { log } = place;
  const clock = virtualClock();
  let closed = 0;
  const api = { ...shelvesApi(), close: async () => await Promise.resolve(void (closed += 1)) };
  const broken = shelves(() => ({
    ...walking(api),
    open: () => {
      throw new TypeError('no opening');
    },
  }));
  await expect(start({ log, pipelines: [broken({})], clock })).rejects.toThrow('no opening');
  expect([closed, clock.pending]).toEqual([1, 0]);
  await takeEveryLane(log);
});

test('a source that can’t be closed is reported, and all lanes are released', async () => {
  await using place = await temporaryLog();
  const { log } = place;
  const broken = {
    ...shelvesApi(),
    close: () => Promise.reject(new Error('still busy')),
  };
  let closed = 0;
  const other = { ...shelvesApi(), close: async () => await Promise.resolve(void (closed += 1)) };
  const events: RunEvent[] = [];
  const pipeline = shelves(() => ({ ...walking(broken), sources: [broken, other] }));
  const running = await start({ log, pipelines: [pipeline({ shelves: ['a'] })], onEvent: (event) => void events.push(event) });
  expect(await running.done).toMatchObject({ outcome: 'done', failures: [] });
  expect(closed).toBe(1);
  expect(events).toContainEqual({ type: 'notice', level: 'warn', message: 'shelves: closing a source failed: still busy' });
  await takeEveryLane(log);
});

test.each([
  { of: 'a list', every: '1s' },
  { of: 'one request of a list', ownEvery: ({ shelf }: Shelf) => (shelf === 'a' ? 1_000 : undefined) },
])('$of that is due again before its crawls are finished is warned of, once', async ({ every, ownEvery }) => {
  await using place = await temporaryLog();
  const clock = virtualClock();
  const gate = Promise.withResolvers<void>();
  const api = shelvesApi({ onPage: () => gate.promise });
  const warnings: string[] = [];
  const running = await start({
    log: place.log,
    pipelines: [shelves(() => walking(api), undefined, ownEvery)({ shelves: ['a', 'b'], every })],
    clock,
    follow: true,
    onEvent: (event) => void (event.type === 'notice' && warnings.push(event.message)),
  });
  const inWork = async (): Promise<number | undefined> => {
    await clock.advance(250);
    return running.snapshot().lanes[0]?.inWork;
  };
  await expect.poll(inWork).toBeGreaterThanOrEqual(6);
  expect(warnings).toEqual([
    expect.stringMatching(/^shelves: a is due again while its previous job is unfinished\. .*Increase `every`\.$/),
  ]);
  gate.resolve();
  await running.stop();
});

test('a list that is due again before its previous requests have started causes one warning', async () => {
  const clock = virtualClock();
  await using place = await temporaryLog([], () => clock.epochMs());
  const gate = Promise.withResolvers<void>();
  const api = shelvesApi({ items: 1, onPage: () => gate.promise });
  // One more than a lane takes at a time, so the last one waits in the topic.
  const names = Array.from({ length: MAX_IN_WORK + 1 }, (_, i) => `s${i}`);
  const warnings: string[] = [];
  const running = await start({
    log: place.log,
    pipelines: [shelves(() => walking(api))({ shelves: names, every: '10s' })],
    clock,
    follow: true,
    onEvent: (event) => void (event.type === 'notice' && warnings.push(event.message)),
  });
  await expect.poll(() => running.snapshot().lanes[0]?.inWork).toBe(MAX_IN_WORK);
  await clock.advance(12_000);
  expect(warnings).toEqual([]);
  gate.resolve();
  await expect
    .poll(async () => {
      await clock.advance(250);
      return warnings;
    })
    .toEqual([expect.stringMatching(/^shelves: a job waited 1\d s before it started, but `every` is 10 s\. .*Increase `every`\.$/)]);
  await running.stop();
});

test('requests that the log deleted before they were processed fail the run once; the others are processed', async () => {
  await using place = await temporaryLog();
  const first = await start({ log: place.log, pipelines: [pipeline()({ shelves: ['a'] })] });
  expect(await first.done).toMatchObject({ outcome: 'done' });
  await place.log.append(['b', 'c', 'd'].map((key) => ({ topic: 'shelves.requests', key, value: JSON.stringify({ shelf: key }) })));
  // Acts like a broker whose retention has deleted b and c.
  const log = logWith(place.log, {
    offsets: async (places, which) =>
      (await place.log.offsets(places, which)).map((offset, i) =>
        places[i]?.topic === 'shelves.requests' && which === 'earliest' ? 3 : offset,
      ),
    readBytes: (options) => place.log.readBytes(options.topic === 'shelves.requests' ? { ...options, from: 3 } : options),
  });
  const warnings: string[] = [];
  const onEvent = (event: RunEvent): void => void (event.type === 'notice' && warnings.push(event.message));
  const second = await start({ log, pipelines: [pipeline()({ shelves: ['a'] })], onEvent });
  const lost = {
    code: 'HEADGATE_REQUESTS_DELETED',
    message: expect.stringMatching(/^shelves\.requests-0: the log deleted some jobs .* set retention\.ms=-1 on that topic\.$/) as string,
  };
  const result = await second.done;
  expect(result).toMatchObject({ outcome: 'failed', failures: [lost] });
  expect(warnings).toEqual([lost.message]);
  expect(await itemsOf(place.log)).toEqual(wanted('a', 'd'));
  const third = await start({ log, pipelines: [pipeline()({ shelves: ['a'] })] });
  expect(await third.done).toMatchObject({ outcome: 'done', failures: [] });
});

/** A log without the requests below `earliest`, like a broker that has deleted them, by retention or by `kafka-delete-records`. */
function deletingLog(log: TopicLog, earliest: () => number): TopicLog {
  const isRequests = (topic: string): boolean => topic === 'shelves.requests';
  return logWith(log, {
    offsets: async (places, which) =>
      (await log.offsets(places, which)).map((offset, i) =>
        isRequests(places[i]?.topic ?? '') && which === 'earliest' ? earliest() : offset,
      ),
    readBytes: (options) => {
      const from = typeof options.from === 'number' ? options.from : 0;
      return log.readBytes(isRequests(options.topic) ? { ...options, from: Math.max(from, earliest()) } : options);
    },
  });
}

test.each([
  { what: 'before others', later: ['d'] },
  { what: 'up to the end', later: [] },
])('requests $what that the log deletes during the run, before it takes them, fail it once', async ({ later }) => {
  await using place = await temporaryLog();
  const gate = Promise.withResolvers<void>();
  let earliest = 0;
  const log = deletingLog(place.log, () => earliest);
  const warnings: string[] = [];
  const api = shelvesApi({ onPage: () => gate.promise });
  const running = await start({
    log,
    pipelines: [shelves(() => walking(api))({ shelves: ['a'] })],
    onEvent: (event) => void (event.type === 'notice' && warnings.push(event.message)),
  });
  await expect.poll(() => running.snapshot().lanes[0]?.inWork).toBe(1);
  earliest = 3;
  await place.log.append(['b', 'c', ...later].map((key) => ({ topic: 'shelves.requests', key, value: JSON.stringify({ shelf: key }) })));
  gate.resolve();
  const lost = {
    code: 'HEADGATE_REQUESTS_DELETED',
    message: expect.stringContaining('the log deleted some jobs before a run processed them') as string,
  };
  expect(await running.done).toMatchObject({ outcome: 'failed', failures: [lost] });
  expect(warnings).toEqual([lost.message]);
  expect(await itemsOf(place.log)).toEqual(wanted('a', ...later));
  const next = await start({ log, pipelines: [pipeline()({ shelves: ['a'] })] });
  expect(await next.done).toMatchObject({ outcome: 'done', failures: [] });
});

test('a partition that is added to the requests topic during the run is no lane: that is reported, and the others continue', async () => {
  await using place = await temporaryLog();
  const topic = 'shelves.requests';
  let addPartition = (): void => undefined;
  const log = logWith(place.log, {
    joinGroup: (options) => {
      addPartition = () => options.onAssigned([0, 1].map((partition) => ({ topic, partition })));
      return place.log.joinGroup(options);
    },
  });
  const left: unknown[] = [];
  const onEvent = (event: RunEvent): void => void (event.type === 'lane-left' && left.push(event));
  const running = await start({ log, pipelines: [pipeline()({ shelves: ['a'] })], follow: true, onEvent });
  addPartition();
  const message =
    'Topic "shelves.requests" has more partitions than the 1 lane of shelves: no run works the jobs in partition 1. ' +
    'Start over with another topics.prefix.';
  await expect.poll(() => left).toMatchObject([{ lane: 1, failed: true, reason: message }]);
  await place.log.append([{ topic, key: 'b', value: JSON.stringify({ shelf: 'b' }) }]);
  await expect.poll(() => itemsOf(place.log)).toEqual(wanted('a', 'b'));
  expect(await running.stop()).toMatchObject({ failures: [{ code: 'HEADGATE_TOPIC_MISMATCH', message }] });
});

test('a lane whose state is lost is refused by every run, and none of them writes a state', async () => {
  await using place = await temporaryLog();
  const { log } = place;
  const lists = { shelves: ['a'] };
  expect(await (await start({ log, pipelines: [pipeline()(lists)] })).done).toMatchObject({ outcome: 'done' });
  // An empty topic takes the place of the one that has the state.
  const topics = { names: { 'shelves.state': 'recreated' } };
  for (let again = 0; again < 2; again += 1) {
    const running = start({ log, pipelines: [pipeline()(lists)], topics });
    await expect(running.then(({ done }) => done)).rejects.toMatchObject({ code: 'HEADGATE_STATE_LOST', loss: 'state' });
  }
  expect(await itemsOf(log)).toEqual(wanted('a'));
  expect([...(await log.readState('recreated', 0)).keys()]).toEqual([]);
});

test('a run whose group state is lost says that all entries of its lists run again, and no other run says so', async () => {
  await using place = await temporaryLog();
  const { log } = place;
  const pipelines = [pipeline()({ shelves: ['a'] })];
  const notices = async (state: string): Promise<readonly string[]> => {
    const said: string[] = [];
    const onEvent = (event: RunEvent): void => void (event.type === 'notice' && said.push(event.message));
    expect(await (await start({ log, pipelines, topics: { names: { 'headgate.state': state } }, onEvent })).done).toMatchObject({
      outcome: 'done',
    });
    return said;
  };
  expect([await notices('kept'), await notices('kept')]).toEqual([[], []]);
  expect(await notices('recreated')).toEqual([
    expect.stringMatching(/^Topic "recreated" has no entry of these lists, .* all entries of the lists run\./u),
  ]);
});

test('topics have a prefix; custom names are used without it', async () => {
  await using place = await temporaryLog();
  const topics = { prefix: 'prod.', names: { 'shelves.records': 'team.items', 'headgate.state': 'team.state' } };
  await using running = await start({ log: place.log, pipelines: [pipeline()({ shelves: ['a'] })], topics });
  expect((await running.done).outcome).toBe('done');
  const found = (await place.log.listTopics()).map(({ name }) => name).sort();
  expect(found).toEqual([
    'prod.shelves.dead-letters',
    'prod.shelves.log',
    'prod.shelves.requests',
    'prod.shelves.state',
    'team.items',
    'team.state',
  ]);
  expect(await itemsOf(place.log, 'team.items')).toEqual(wanted('a'));
});

test('two topics with the same name are refused', async () => {
  await using place = await temporaryLog();
  const names = { 'shelves.records': 'same', 'shelves.log': 'same' };
  await expect(start({ log: place.log, pipelines: [pipeline()({})], topics: { names } })).rejects.toThrow(
    expect.objectContaining({
      code: 'HEADGATE_DEFINITION',
      message: expect.stringMatching(/Two topics of this run are called same/) as string,
    }),
  );
});

test('two runs in one process share nothing', async () => {
  await using one = await temporaryLog();
  await using other = await temporaryLog();
  const places = [one, other].map(({ log }, i) => ({ log, shelf: ['a', 'b'][i] ?? '' }));
  const results = await Promise.all(
    places.map(async ({ log, shelf }) => {
      await using running = await start({ log, pipelines: [pipeline()({ shelves: [shelf] })] });
      const events: string[] = [];
      running.events.subscribe((event) => event.type === 'request-completed' && events.push(event.key));
      const { outcome, snapshot } = await running.done;
      return { outcome, events, items: snapshot.pipelines['shelves']?.items, written: await itemsOf(log) };
    }),
  );
  expect(results).toEqual(['a', 'b'].map((shelf) => ({ outcome: 'done', events: [shelf], items: 5, written: wanted(shelf) })));
});

test('two groups on one log each process every request', async () => {
  await using place = await temporaryLog();
  const { log } = place;
  for (const group of ['one', 'two']) {
    await using running = await start({ log, group, pipelines: [pipeline()({})] });
    await running.done;
  }
  await log.append([{ topic: 'shelves.requests', key: 'a', value: '{"shelf":"a"}' }]);
  await Promise.all(
    ['one', 'two'].map(async (group) => {
      await using running = await start({ log, group, pipelines: [pipeline()({})] });
      expect((await running.done).snapshot.pipelines['shelves']?.items).toBe(5);
    }),
  );
  expect(await itemsOf(log)).toEqual([...wanted('a'), ...wanted('a')].sort());
});

test('enqueue refuses requests for a pipeline that the run does not have', async () => {
  await using place = await temporaryLog();
  await using running = await start({ log: place.log, pipelines: [pipeline()({})] });
  await expect(running.enqueue('other', [{ shelf: 'a' }])).rejects.toThrow('enqueue: there is no pipeline other. There are shelves.');
});
