import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Pipeline, type RunSnapshot, start } from '@headgate/pipeline';
import { pipelineContract } from '@headgate/pipeline/testing';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { issuesContract } from './contract.fixture.ts';
import { type IssuesEmulator, startIssues } from './issues-emulator.ts';
import issues from './issues.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-issues-'));
});
afterAll(() => rm(folder, { recursive: true }));

describe('on the embedded log', () => {
  const checks = pipelineContract({ ...issuesContract, openLog: () => sqliteTopicLog({ file: join(folder, 'contract.db') }) });
  it.concurrent.for(checks)('$name', async (check, { expect }) => {
    await expect(check.run()).resolves.toBeUndefined();
  });
});

const tokens = [{ name: 'one', token: 'token-one' }];

async function run(name: string, pipeline: Pipeline): Promise<RunSnapshot> {
  await using log = await sqliteTopicLog({ file: join(folder, `${name}.db`) });
  await using running = await start({ log, pipelines: [pipeline], validate: true });
  const { failures, snapshot } = await running.done;
  expect(failures).toEqual([]);
  return snapshot;
}

const records = async (name: string): Promise<unknown[]> => {
  await using log = await sqliteTopicLog({ file: join(folder, `${name}.db`) });
  return (await Array.fromAsync(log.read({ topic: 'issues.records' }))).map(({ value }) => JSON.parse(value ?? 'null') as unknown);
};

const statuses = ({ requests }: IssuesEmulator): number[] => requests.map(({ status }) => status);

test('a page that has not changed costs nothing, and gives the same records', async () => {
  await using service = await startIssues({ repos: { 'o/a': 5 }, limits: { window: 100, windowMs: 1_000, month: 2 } });
  await using log = await sqliteTopicLog({ file: join(folder, 'etag.db') });
  const pipeline = issues({ baseUrl: service.url, tokens, repos: ['o/a'] });
  await using running = await start({ log, pipelines: [pipeline], follow: true });
  const completed = async (walks: number): Promise<void> =>
    await expect.poll(() => running.snapshot().pipelines['issues']?.walks.completed).toBe(walks);
  await completed(1);
  await running.enqueue('issues', [{ repo: 'o/a' }]);
  await completed(2);
  expect(statuses(service)).toEqual([200, 200, 304, 304]);
  service.edit('o/a');
  await running.stop();
  const found = await records('etag');
  expect(found).toHaveLength(10);
  expect(found.slice(5)).toEqual(found.slice(0, 5));
});

test('single issues share a POST, and one that is not there is a dead letter', async () => {
  await using service = await startIssues({ repos: { 'o/a': 5 } });
  await using log = await sqliteTopicLog({ file: join(folder, 'single.db') });
  await using running = await start({ log, pipelines: [issues({ baseUrl: service.url, tokens })], follow: true });
  await running.enqueue('issues', [{ issue: 'o/a#1' }, { issue: 'o/a#9' }, { issue: 'o/a#4' }]);
  await expect.poll(() => running.snapshot().pipelines['issues']?.keys.answered).toBe(3);
  const { snapshot } = await running.stop();
  expect(service.requests.map(({ method, path }) => [method, path])).toEqual([['POST', '/issues/batch']]);
  expect(await records('single')).toMatchObject([{ number: 1 }, { number: 4 }]);
  expect(snapshot.deadLetters).toMatchObject([{ key: 'o/a#9', error: { code: 'HEADGATE_NO_ISSUE' } }]);
});

test('a token that is refused leaves the work to the others; a service that answers otherwise than it should is told by the place', async () => {
  await using service = await startIssues({ repos: { 'o/a': 5 } });
  const revoked = { name: 'old', token: 'revoked' };
  await run('revoked', issues({ baseUrl: service.url, tokens: [revoked, ...tokens], repos: ['o/a'] }));
  expect(await records('revoked')).toHaveLength(5);
});
