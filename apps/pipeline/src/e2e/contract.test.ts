import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipelineContract } from '@headgate/pipeline/testing';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { contracts } from './contract.fixture.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-contract-'));
});
afterAll(() => rm(folder, { recursive: true }));

describe.each(Object.entries(contracts))('%s on the embedded log', (name, contract) => {
  const checks = pipelineContract({ ...contract, openLog: () => sqliteTopicLog({ file: join(folder, `${name}.db`) }) });
  it.concurrent.for(checks)('$name', async (check, { expect }) => {
    await expect(check.run()).resolves.toBeUndefined();
  });
});
