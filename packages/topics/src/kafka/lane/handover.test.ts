import type { Cluster } from '../client/cluster.ts';
import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import type { Client } from '../client/client.ts';
import type { GroupDescription } from '../requests/groups.ts';
import { awaitHandover } from './handover.ts';
import type { LaneHolder } from './lane-log.ts';
import type { KafkaLaneWriter } from './lane-writer.ts';

const listed = async (...members: readonly string[]): Promise<Pick<GroupDescription, 'members'>> =>
  await Promise.resolve({ members: members.map((memberId) => ({ memberId, metadata: Buffer.alloc(0), assignment: Buffer.alloc(0) })) });
const unanswered = (): Promise<never> => Promise.reject(new Error('The group coordinator is not available'));

test.for([
  { log: 'another', what: 'another container with the same host name and process id', members: () => listed('m'), looks: 3 },
  { log: 'another', what: 'a holder whose group does not respond', members: unanswered, looks: 3 },
  { log: 'another', what: 'a holder that its group does not list', members: () => listed(), looks: 1 },
  { log: 'this', what: 'an earlier opening of its own', members: () => listed('m'), looks: 1 },
])('a newcomer checks $looks times whether the lane is released: $what', async ({ log, members, looks }) => {
  const holder = { incarnation: 'first', log, nonce: '', host: hostname(), pid: process.pid, sinceMs: 0, member: { group: 'g', id: 'm' } };
  let looked = 0;
  const writer: Pick<KafkaLaneWriter, 'currentHolder'> = {
    async currentHolder(): Promise<LaneHolder> {
      looked += 1;
      return await Promise.resolve({ ...holder, released: looked > 2 });
    },
  };
  const cluster = { ask: members };
  const client: Pick<Client, 'run'> = { run: async (work) => await work(cluster as object as Cluster) };
  await awaitHandover(writer as KafkaLaneWriter, client as Client, 'this', 60_000);
  expect(looked).toBe(looks);
});
