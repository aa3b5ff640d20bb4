import { expect, it } from 'vitest';
import { LiveState } from '../state-reading.ts';
import { CommitWatch } from './commit-watch.ts';
import { SqliteLaneWriter } from './lane-writer.ts';
import type { WorkerLink } from './worker-link.ts';

it('a lane is released after the transactions called before it, so that no other holder has taken it when they are written', async () => {
  const calls: string[] = [];
  const link = {
    call: async (method: string) => {
      calls.push(method);
      return await Promise.resolve(method === 'write' ? new Float64Array(2) : undefined);
    },
  } as object as WorkerLink;
  const writer = new SqliteLaneWriter({
    link,
    commits: new CommitWatch(() => Promise.resolve(), 50),
    lane: { name: 'lane', state: { topic: 'state', partition: 0 } },
    epoch: 1,
    state: new LiveState(),
    now: () => 0,
    availability: undefined,
    file: 'log.db',
    onClose: () => calls.push('closed'),
  });
  const written = [1, 2].map((page) => writer.transaction((tx) => tx.checkpoint('page', String(page))));
  await writer.close();
  await Promise.all(written);
  expect(calls).toEqual(['write', 'write', 'closeLane', 'closed']);
});
