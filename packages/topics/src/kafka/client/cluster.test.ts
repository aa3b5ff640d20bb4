import { expect, it } from 'vitest';
import { metadata } from '../requests/topics.ts';
import { listOffsets } from '../requests/offsets.ts';
import type { Answered, Request } from '../requests/request.ts';
import { answeredError } from './answered-error.ts';
import { Cluster } from './cluster.ts';
import { ConnectionError } from './connection-error.ts';
import { describeGroup } from '../requests/groups.ts';
import { FakeCluster } from './fake-cluster.fixture.ts';
import { plainConfig } from './plain-cluster.fixture.ts';
import { namesVersions, socketBroker } from './socket-broker.fixture.ts';
import { passes } from './driver-errors.ts';

const ALL = namesVersions([3]);

it('if a broker accepts a connection but closes it without a response, the next address is tried', async () => {
  await using mute = await socketBroker((_, __, socket) => void socket.destroy());
  await using there = await socketBroker((request, body, socket) => ALL(request, body, socket));
  const cluster = new Cluster(plainConfig([mute.address, there.address]));
  expect(await cluster.anyBroker()).toBe(there.address);
  expect([mute.connections(), there.connections()]).toEqual([1, 1]);
  // The address that failed comes last from now on.
  expect(await cluster.anyBroker()).toBe(there.address);
  expect(mute.connections()).toBe(1);
  cluster.close();
});

it('if no address can be reached, the error passes and names the last one', async () => {
  const cluster = new Cluster(plainConfig(['127.0.0.1:1']));
  const error: unknown = await cluster.ask(metadata, { topics: [] }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConnectionError);
  expect([passes(error), String(error)]).toEqual([true, expect.stringContaining('ECONNREFUSED 127.0.0.1:1')]);
});

/** A cluster whose leaders, brokers 1 and 2, change: `leader` says which one leads partition 0 of each topic now. */
class MovingCluster extends Cluster {
  readonly asked: string[] = [];
  leader = 1;
  onLeader: (broker: string) => Promise<void> = () => Promise.resolve();

  constructor() {
    super(plainConfig(['seed:9092']));
  }

  override async anyBroker(): Promise<string> {
    return await Promise.resolve('seed:9092');
  }

  override async exchange<Options, Answer>(broker: string, request: Request<Options, Answer>, options: Options): Promise<Answered<Answer>> {
    const { topics = [] } = options as { readonly topics?: readonly string[] };
    this.asked.push(`${request.api} ${broker} ${topics.join(',')}`.trim());
    const done = (answer: unknown) => ({ throttleMs: 0, refusals: [], answer: answer as never });
    if (request.api === 'Metadata') {
      const topicMetadata = topics.map((topic) => {
        const partitionMetadata = [
          { partitionId: 1, leader: -1 },
          { partitionId: 0, leader: this.leader },
        ];
        return { topic, topicErrorCode: topic === 'gone' ? 3 : 0, partitionMetadata };
      });
      const brokers = [1, 2].map((nodeId) => ({ nodeId, host: `broker-${nodeId}`, port: 9092 }));
      return done({ brokers, controllerId: 1, topicMetadata });
    }
    await this.onLeader(broker);
    return done(new Map([['pages-0', 7]]));
  }
}

const PAGES = { topicPartitions: [{ topic: 'pages', partition: 0 }], which: 'stable' } as const;

it('a leader is asked for once, until it is no longer the leader or can’t be reached', async () => {
  const cluster = new MovingCluster();
  await cluster.ask(listOffsets, PAGES);
  await cluster.ask(listOffsets, PAGES);
  expect(cluster.asked.splice(0)).toEqual(['Metadata seed:9092 pages', 'ListOffsets broker-1:9092', 'ListOffsets broker-1:9092']);
  cluster.leader = 2;
  cluster.onLeader = async (broker) => await (broker === 'broker-1:9092' ? Promise.reject(answeredError(6)) : Promise.resolve());
  expect(await cluster.ask(listOffsets, PAGES)).toEqual(new Map([['pages-0', 7]]));
  expect(cluster.asked.splice(0)).toEqual(['ListOffsets broker-1:9092', 'Metadata seed:9092 pages', 'ListOffsets broker-2:9092']);
  cluster.leader = 1;
  cluster.onLeader = async (broker) =>
    await (broker === 'broker-2:9092' ? Promise.reject(new ConnectionError(broker, new Error('lost'))) : Promise.resolve());
  await expect(cluster.ask(listOffsets, PAGES)).rejects.toThrow('lost');
  await cluster.ask(listOffsets, PAGES);
  expect(cluster.asked).toEqual(['ListOffsets broker-2:9092', 'Metadata seed:9092 pages', 'ListOffsets broker-1:9092']);
});

it('a partition without a leader fails only the callers that need it', async () => {
  const cluster = new MovingCluster();
  await cluster.ask(listOffsets, PAGES);
  const leaderless = { ...PAGES, topicPartitions: [{ topic: 'pages', partition: 1 }] };
  await expect(cluster.ask(listOffsets, leaderless)).rejects.toMatchObject({ type: 'LEADER_NOT_AVAILABLE', topic: 'pages' });
});

it('a topic that is missing fails only the callers that need it', async () => {
  const cluster = new MovingCluster();
  const gone = { ...PAGES, topicPartitions: [{ topic: 'gone', partition: 0 }] };
  await expect(cluster.ask(listOffsets, gone)).rejects.toMatchObject({ type: 'UNKNOWN_TOPIC_OR_PARTITION', topic: 'gone' });
  expect(await cluster.ask(listOffsets, PAGES)).toEqual(new Map([['pages-0', 7]]));
});

it('metadata that lists no broker proves nothing about topics', async () => {
  const cluster = new FakeCluster(() => ({ answer: { brokers: [], topicMetadata: [] } }));
  const error: unknown = await cluster.metadata(['pages'], 'any').catch((thrown: unknown) => thrown);
  expect([passes(error), String(error)]).toEqual([true, expect.stringContaining('no broker is ready')]);
});

it('a coordinator that refuses a request is looked up again', async () => {
  const found: string[] = [];
  class MovingCluster extends FakeCluster {
    protected override async findCoordinator(): Promise<string> {
      return await Promise.resolve(`broker ${found.push('found')}`);
    }
  }
  const NOT_COORDINATOR = 16;
  const cluster = new MovingCluster(() => (found.length === 1 ? { refusals: [{ errorCode: NOT_COORDINATOR }] } : { answer: undefined }));
  await cluster.ask(describeGroup, { groupId: 'group' });
  expect(found).toHaveLength(2);
  await cluster.ask(describeGroup, { groupId: 'group' });
  expect(found).toHaveLength(2);
});
