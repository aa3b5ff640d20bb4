import { type TopicLog, TopicLostError, TopicUnknownError } from '@headgate/topics';
import { expect, test } from 'vitest';
import { catalogue } from '../testing/catalogue.fixture.ts';
import { topicNames } from '../topics/names.ts';
import { StateLostError, assertStateKept, assertStatesKept, topicGone } from './state-check.ts';

const names = topicNames();
const pipeline = { ...catalogue()({ baseUrl: 'http://127.0.0.1:9', token: 't' }), credentials: ['one', 'two'] };
const about = { group: 'readers', pipeline, names, lane: 1, id: undefined };
/** The state of a lane that has finished everything before `next`. */
const kept = (next: number, id?: string) => ({ stateAt: (key: string) => ({ lane: { next, done: [] }, 'requests-id': id })[key] });
const none = { stateAt: () => undefined };

test.for<{ what: string; end?: number; says: RegExp }>([
  {
    what: 'that is not there',
    says: /catalogue\.requests partition 1 doesn't exist, but .* "readers" has finished everything before 5\. Was the topic deleted\?/u,
  },
  { what: 'that ends before', end: 3, says: /partition 1 ends at offset 3, .* Was the topic deleted and created again\?/u },
])('a topic of requests $what is not called empty', async ({ end, says }) => {
  const log = logOf({ offsets: endsAt(end) });
  await expect(assertStateKept({ log, ...about, ...kept(5) })).rejects.toThrow(says);
  await expect(assertStateKept({ log, ...about, ...kept(5) })).rejects.toMatchObject({ loss: 'requests', code: 'HEADGATE_STATE_LOST' });
  await expect(assertStateKept({ log, ...about, ...kept(0) })).resolves.toBeUndefined();
});

test('an error of the log is no missing topic', async () => {
  const failed = new Error('no answer');
  const log = logOf({ offsets: async () => await Promise.reject(failed) });
  await expect(assertStateKept({ log, ...about, ...kept(5) })).rejects.toBe(failed);
});

const REFUSED = expect.stringMatching(
  /partition 1 has the topic ID new, not old, .* Was the topic deleted and created again\?/u,
) as unknown;

test.for<{ what: string; id?: string; stateOfId?: string; committed?: number; outcome: unknown }>([
  { what: 'was created again is refused', id: 'new', stateOfId: 'old', outcome: REFUSED },
  { what: 'is a copy, with the offsets of its group, is worked', id: 'new', stateOfId: 'old', committed: 0, outcome: undefined },
  { what: 'is the same, without the expired offsets of its group, is worked', id: 'old', stateOfId: 'old', outcome: undefined },
  { what: 'was worked before its ID was kept is worked', id: 'new', outcome: undefined },
  { what: 'has no ID is worked', stateOfId: 'old', outcome: undefined },
])('a topic of requests that $what', async ({ id, stateOfId, committed, outcome }) => {
  const log = logOf({ offsets: endsAt(9), groupOffset: async () => await Promise.resolve(committed) });
  const checked = assertStateKept({ log, ...about, id, ...kept(5, stateOfId) });
  expect(await checked.catch(({ message }: Error) => message)).toEqual(outcome);
});

test('a lane without state is new only if its group has committed no offset', async () => {
  // Offsets would cost another request for each of possibly hundreds of lanes.
  const offsetOf = (offset: number | undefined): TopicLog => logOf({ groupOffset: async () => await Promise.resolve(offset) });
  await expect(assertStateKept({ log: offsetOf(undefined), ...about, ...none })).resolves.toBeUndefined();
  const lost = assertStateKept({ log: offsetOf(7), ...about, ...none });
  await expect(lost).rejects.toThrow(/catalogue\.state has no records for catalogue\.requests partition 1, .* committed offset 7/u);
  await expect(lost).rejects.toMatchObject({ loss: 'state' });
});

test('lanes without a state are looked up together, and not at all if there is no topic for it', async () => {
  const all = Promise.withResolvers<void>();
  let asked = 0;
  let listed = 0;
  const log = logOf({
    readState: async (topic, partition) => {
      asked += 1;
      if (asked === 2) all.resolve();
      await all.promise;
      throw new TopicUnknownError({ topic, partition, partitions: 1 });
    },
    listTopics: async () => {
      listed += 1;
      return await Promise.resolve([]);
    },
    groupOffset: async () => await Promise.resolve(undefined),
  });
  const lanes = { log, group: 'readers', pipelines: [pipeline], names, lanes: 2 };
  await assertStatesKept({ ...lanes, missing: [] });
  await assertStatesKept({ ...lanes, missing: ['catalogue.state'] });
  // The topic's ID is looked up once for all lanes.
  expect([asked, listed]).toEqual([2, 2]);
  const untouched = logOf({});
  await assertStatesKept({ ...lanes, log: untouched, missing: ['catalogue.requests'] });
});

test('a topic that was deleted during the work is named with its role, any other error passes unchanged', () => {
  const lossOf = (topic: string): unknown => {
    const told = topicGone(new TopicUnknownError({ topic, partition: 0, partitions: 0 }), pipeline, names);
    return told instanceof StateLostError ? [told.loss, told.what.includes(`"${topic}"`)] : told;
  };
  expect(['catalogue.state', 'catalogue.requests', 'catalogue.records'].map(lossOf)).toEqual([
    ['state', true],
    ['requests', true],
    ['records', true],
  ]);
  const cut = topicGone(new TopicLostError({ topic: 'catalogue.state' }), pipeline, names);
  expect(cut).toMatchObject({
    loss: 'end',
    message: expect.stringMatching(/^Topic "catalogue\.state" lost its newest records .* Run again:/u),
  });
  const other = new Error('other');
  expect(topicGone(other, pipeline, names)).toBe(other);
});

/** The second partition of the requests topic ends there, or doesn't exist. */
function endsAt(end: number | undefined): TopicLog['offsets'] {
  return async ([place], which) => {
    expect([place, which]).toEqual([{ topic: 'catalogue.requests', partition: 1 }, 'end']);
    if (end === undefined) throw new TopicUnknownError({ topic: 'catalogue.requests', partition: 1, partitions: 1 });
    return await Promise.resolve([end]);
  };
}

function logOf(parts: Partial<TopicLog>): TopicLog {
  return parts as TopicLog;
}
