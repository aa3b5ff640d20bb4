import { rest } from '@headgate/rest';
import { type TopicLog, TopicMismatchError } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { expect, test } from 'vitest';
import { configFolder } from '../config/config-folder.fixture.ts';
import type { TopicsConfig } from '../config/topics-section.ts';
import { books } from '../pipelines/books.ts';
import { logWith } from './log-with.fixture.ts';
import { lanesInLog, prepareTopics, runTopics, partitionsOf } from './topics.ts';

const KAFKA: TopicsConfig = {
  driver: 'kafka',
  brokers: ['one:9092', 'two:9092'],
  clientId: 'headgate',
  group: 'headgate',
  lanes: 1,
  replication: 3,
  settings: {},
  compression: 'gzip',
  ssl: false,
  prefix: '',
  names: {},
};

test('a run has the topics of its own pipelines alone', () => {
  const pipelines = [books({ baseUrl: 'http://127.0.0.1:9', key: () => 'k' })];
  const owners = new Set(runTopics({ topics: KAFKA, pipelines }).map(({ name }) => name.split('.')[0]));
  expect([...owners]).toEqual(['books', 'headgate']);
});

test('a file made for more lanes says how many to set, and what is wanted of each topic', async () => {
  const folder = await configFolder({});
  const file = `${folder}/headgate.db`;
  await using log = await sqliteTopicLog({ file });
  const topics: TopicsConfig = { driver: 'sqlite', file, group: 'headgate', lanes: 1, prefix: '', names: {} };
  await log.createTopics(runTopics({ topics: { ...topics, lanes: 3 }, pipelines: [] }));
  for (const validateOnly of [true, false]) {
    const refused = prepareTopics(log, { topics, pipelines: [] }, validateOnly);
    await expect(refused).rejects.toThrow(TopicMismatchError);
    await expect(refused).rejects.toThrow(
      'Topic "followers.requests" has 3 partitions, but topics.lanes is 1: no lane would process the other ones, and partitions can\'t be removed. Set topics.lanes to 3, with as many credentials. Or: Start over with another topics.file: all topics are new there, and all jobs run again.',
    );
  }
  expect((await prepareTopics(log, { topics: { ...topics, lanes: 3 }, pipelines: [] })).created).toEqual([]);
});

test('only a run adds partitions for more lanes; other commands use the lanes that the log has', async () => {
  const folder = await configFolder({});
  const file = `${folder}/headgate.db`;
  await using log = await sqliteTopicLog({ file });
  const topics: TopicsConfig = { driver: 'sqlite', file, group: 'headgate', lanes: 2, prefix: '', names: {} };
  await log.createTopics([{ name: 'followers.requests', partitions: 1 }]);
  const { created, grown } = await prepareTopics(log, { topics, pipelines: [] });
  expect([created.includes('followers.state'), grown, await lanesInLog(log, topics, 'followers')]).toEqual([true, [], 1]);
  await log.createTopics(runTopics({ topics, pipelines: [] }));
  expect(await lanesInLog(log, topics, 'followers')).toBe(2);
});

test('other commands create missing topics with the lanes that the log has, so that more lanes can be taken back until a run uses them', async () => {
  const folder = await configFolder({});
  const file = `${folder}/headgate.db`;
  await using log = await sqliteTopicLog({ file });
  const topics: TopicsConfig = { driver: 'sqlite', file, group: 'headgate', lanes: 1, prefix: '', names: {} };
  await log.createTopics(runTopics({ topics, pipelines: [] }).filter(({ name }) => name !== 'followers.changes'));
  await prepareTopics(log, { topics: { ...topics, lanes: 2 }, pipelines: [] });
  const partitions = async () => (await partitionsOf(log, { topics, pipelines: [] })).get('followers.changes');
  expect(await partitions()).toBe(1);
  expect((await log.createTopics(runTopics({ topics, pipelines: [] }))).grown).toEqual([]);
  await log.createTopics(runTopics({ topics: { ...topics, lanes: 2 }, pipelines: [] }));
  expect((await log.listTopics(['followers.changes']))[0]?.partitions).toBe(2);
});

test('books have one partition whatever the lanes; a state that is too large asks for lanes; what else is wrong is kept', async () => {
  const log = refusing(
    new TopicMismatchError({
      topic: 'books.requests',
      reason: '…',
      partitions: 6,
      others: [
        { topic: 'followers.state', reason: '…', partitions: 3 },
        { topic: 'followers.ids', reason: 'has cleanup.policy=compact. Set that.', settings: { 'cleanup.policy': 'delete' } },
      ],
    }),
  );
  await expect(prepareTopics(log, { topics: KAFKA, pipelines: [] })).rejects.toThrow(
    [
      'Topic "books.requests" has 6 partitions, but must have one: no lane would process the other ones, and partitions can\'t be removed. ' +
        'Start over with another topics.prefix: all topics are new there, and all jobs run again.',
      'Topic "followers.state" has 3 partitions, but topics.lanes is 1: no lane would process the other ones, and partitions can\'t be removed. ' +
        'Set topics.lanes to 3, with as many credentials. Or: Start over with another topics.prefix: all topics are new there, and all jobs run again.',
      'Topic "followers.ids" has cleanup.policy=compact. Set that: kafka-configs.sh --bootstrap-server one:9092,two:9092 --alter ' +
        "--entity-type topics --entity-name 'followers.ids' --add-config cleanup.policy=delete",
    ].join('\n'),
  );
});

test('only topics whose records name their partitions may have more of them', () => {
  const specs = runTopics({ topics: { ...KAFKA, lanes: 3 }, pipelines: [] });
  const refused = specs.flatMap(({ name, namesPartitions = false }) => (namesPartitions ? [] : [name.replace(/^.*\./u, '')]));
  expect([...new Set(refused)].toSorted()).toEqual(['dead-letters', 'requests', 'state']);
});

test('a group state that is missing alone is warned of: without it, all entries of the lists run again', async () => {
  const folder = await configFolder({});
  const file = `${folder}/headgate.db`;
  await using log = await sqliteTopicLog({ file });
  const topics: TopicsConfig = { driver: 'sqlite', file, group: 'headgate', lanes: 1, prefix: 'a.', names: {} };
  const config = { topics, pipelines: [] };
  expect((await prepareTopics(log, config, true)).warnings).toEqual([]);
  await log.createTopics(runTopics(config).filter(({ name }) => name !== 'a.headgate.state'));
  const { warnings } = await prepareTopics(log, config, true);
  expect(warnings).toEqual([expect.stringMatching(/^Topic "a\.headgate\.state" was missing, .* all entries of the lists run again\./u)]);
  expect((await prepareTopics(log, config)).warnings).toEqual(warnings);
  expect((await prepareTopics(log, config)).warnings).toEqual([]);
});

test('a compacted topic of records is no state, so a missing group state beside it is nothing to warn of', async () => {
  const folder = await configFolder({});
  const file = `${folder}/headgate.db`;
  await using log = await sqliteTopicLog({ file });
  const topics: TopicsConfig = { driver: 'sqlite', file, group: 'headgate', lanes: 1, prefix: '', names: {} };
  const tracker = rest('tracker')({
    baseUrl: 'http://127.0.0.1:9',
    credentials: [{ name: 'app' }],
    limit: { requests: 1, window: 1_000 },
    streams: { issues: { get: '/issues', key: '$.id', compact: true } },
  });
  const config = { topics, pipelines: [tracker] };
  const issues = runTopics(config).filter(({ name }) => name === 'tracker.issues');
  expect(await log.createTopics(issues)).toMatchObject({ created: ['tracker.issues'] });
  expect((await prepareTopics(log, config, true)).warnings).toEqual([]);
});

function refusing(error: Error): TopicLog {
  const log: Pick<TopicLog, 'createTopics'> = {
    async createTopics() {
      throw error;
    },
  };
  return log as TopicLog;
}

test('looking at the topics that are there asks for no right to make or to change any, and says what does not fit', async () => {
  const folder = await configFolder({});
  const file = `${folder}/headgate.db`;
  await using embedded = await sqliteTopicLog({ file });
  const asked: string[] = [];
  const log = logWith(embedded, {
    createTopics(specs, options) {
      expect(options).toEqual({ validateOnly: true });
      asked.push(...specs.map(({ name }) => name));
      return embedded.createTopics(specs, options);
    },
  });
  const topics: TopicsConfig = { driver: 'sqlite', file, group: 'headgate', lanes: 2, prefix: '', names: {} };
  expect(await partitionsOf(log, { topics, pipelines: [] })).toEqual(new Map());
  await embedded.createTopics([
    { name: 'followers.requests', partitions: 1 },
    { name: 'books.requests', partitions: 1 },
  ]);
  expect(await partitionsOf(log, { topics, pipelines: [] })).toEqual(
    new Map([
      ['books.requests', 1],
      ['followers.requests', 1],
    ]),
  );
  expect(asked).toEqual(['books.requests']);
  await embedded.createTopics([{ name: 'followers.ids', partitions: 3 }]);
  await expect(partitionsOf(log, { topics, pipelines: [] })).rejects.toThrow('Set topics.lanes to 3, with as many credentials.');
});
