import { expect, it, vi } from 'vitest';
import { answeredError } from '../client/answered-error.ts';
import { FakeCluster } from '../client/fake-cluster.fixture.ts';
import { Member } from './member.ts';
import { encodeAssignment, encodeMetadata } from './member-metadata.ts';

const UNKNOWN_MEMBER_ID = 25;
const REBALANCE_IN_PROGRESS = 27;
const OPTIONS = { group: 'group', topics: ['requests'], agreement: '', sessionTimeoutMs: 6_000, onUncertain: () => undefined };
/** What members agree on: their text, and the topics. */
const AGREEMENT = JSON.stringify(['', 'requests']);

/** A group whose broker takes each newcomer, and ends each heartbeat with the next of `ends`. Its requests are written down in order. */
function groupOf(ends: (Error | number)[], faults: string[]) {
  const asked: string[] = [];
  const over = Promise.withResolvers<void>();
  let newcomers = 0;
  const connected = (): FakeCluster => {
    const fake = new FakeCluster(async (api, { memberId = '' }: { readonly memberId?: string }) => {
      if (api === 'DescribeGroups') return { answer: { members: [] } };
      asked.push(`${api} ${memberId}`);
      if (api === 'JoinGroup') {
        const mustJoinAgain = memberId === '';
        const id = mustJoinAgain ? `m${(newcomers += 1)}` : memberId;
        return { answer: { memberId: id, mustJoinAgain, generationId: 1, leaderId: 'other', members: [] } };
      }
      if (api === 'SyncGroup')
        return { answer: encodeAssignment({ partitions: [{ topic: 'requests', partition: 0 }], agreement: AGREEMENT }) };
      if (api !== 'Heartbeat') return {};
      const end = ends.shift();
      if (ends.length === 0) over.resolve();
      if (end instanceof Error) throw end;
      return { refusals: end === undefined ? [] : [{ errorCode: end }] };
    });
    const watcher = { unavailable: (reason: string) => faults.push(reason), available: () => undefined, abandoned: () => undefined };
    return Object.assign(fake, { config: { ...fake.config, availability: { watcher: () => watcher, close: () => undefined } } });
  };
  const cluster = (): FakeCluster => {
    asked.push('connect');
    return connected();
  };
  return { log: connected(), cluster, asked, over: over.promise };
}

it('a member keeps its ID over a lost connection and a rebalance, and is a newcomer only after the group has forgotten it', async () => {
  const faults: string[] = [];
  const ends = [new Error('connection lost'), REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID, answeredError(7)];
  const { log, cluster, asked, over } = groupOf(ends, faults);
  const told: string[] = [];
  const member = new Member({
    log,
    cluster,
    ...OPTIONS,
    onAssigned: (partitions) => told.push(`${partitions.length} of ${member.memberId}`),
    onUncertain: () => told.push('uncertain'),
    onFailed: ({ message }) => faults.push(`final: ${message}`),
  });
  await member.joined;
  await over;
  await member.leave();
  expect(asked.filter((each) => /^(?:connect|JoinGroup|LeaveGroup)/u.test(each)).slice(0, 8)).toEqual([
    'connect',
    'JoinGroup ',
    'JoinGroup m1',
    // The connection is lost, then the group rebalances, then it has forgotten the member.
    'connect',
    'JoinGroup m1',
    'JoinGroup m1',
    'JoinGroup ',
    'JoinGroup m2',
  ]);
  expect(asked.at(-1)).toBe('LeaveGroup m2');
  expect(faults[0]).toBe('connection lost');
  expect(told.filter((each) => each !== 'uncertain').slice(0, 4)).toEqual(['1 of m1', '1 of m1', '1 of m1', '1 of m2']);
});

it('a leader divides the partitions again when there are more of them', async () => {
  let partitions = 1;
  let memberId = '';
  const assigned: unknown[] = [];
  const connected = (): FakeCluster =>
    new FakeCluster((api, { assignments = [] }: { readonly assignments?: readonly { readonly assignment: Buffer }[] }) => {
      if (api === 'DescribeGroups') return { answer: { members: [] } };
      if (api === 'Metadata') {
        const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({ partitionId }));
        const topicMetadata = [{ topic: 'requests', topicErrorCode: 0, partitionMetadata }];
        return { answer: { brokers: [{ nodeId: 1, host: 'any', port: 9092 }], topicMetadata } };
      }
      if (api === 'JoinGroup') {
        const mustJoinAgain = memberId === '';
        memberId = 'm1';
        const metadata = encodeMetadata(['requests'], { owned: [], agreement: AGREEMENT });
        return { answer: { memberId, mustJoinAgain, generationId: 1, leaderId: memberId, members: [{ memberId, metadata }] } };
      }
      return api === 'SyncGroup' ? { answer: assignments[0]?.assignment } : {};
    });
  const member = new Member({
    log: connected(),
    cluster: connected,
    ...OPTIONS,
    onAssigned: (list) => assigned.push(list.map(({ partition }) => partition)),
    onFailed: (error) => assigned.push(error),
  });
  await member.joined;
  partitions = 3;
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + 30_000);
  try {
    await expect.poll(() => assigned).toEqual([[0], [0, 1, 2]]);
  } finally {
    vi.restoreAllMocks();
    await member.leave();
  }
});

it('a member is refused by a leader with another agreement', async () => {
  const connected = (): FakeCluster =>
    new FakeCluster((api) => {
      if (api === 'DescribeGroups') return { answer: { members: [] } };
      if (api === 'JoinGroup') return { answer: { memberId: 'm1', mustJoinAgain: false, generationId: 1, leaderId: 'other', members: [] } };
      return { answer: encodeAssignment({ partitions: [], agreement: 'another' }) };
    });
  const failures: Error[] = [];
  const member = new Member({
    log: connected(),
    cluster: connected,
    ...OPTIONS,
    onAssigned: () => undefined,
    onFailed: (error) => failures.push(error),
  });
  await expect(member.joined).rejects.toMatchObject({ code: 'HEADGATE_GROUP_DISAGREEMENT' });
  // It had not begun, so only `joined` says so.
  expect([failures, member.memberId]).toEqual([[], undefined]);
  await member.leave();
});
