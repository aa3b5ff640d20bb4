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

// After the first crawl, both budgets have one request left. A request that is answered with 304 doesn't use it up.
test('a page that has not changed costs nothing, and gives the same records', async () => {
  await using service = await startIssues({ repos: { 'o/a': 5 }, limits: { window: 3, windowMs: 3_600_000, month: 3 } });
  await using log = await sqliteTopicLog({ file: join(folder, 'etag.db') });
  const pipeline = issues({ baseUrl: service.url, tokens, repos: ['o/a'], window: { requests: 3, per: '1h' }, perMonth: 3 });
  await using running = await start({ log, pipelines: [pipeline], follow: true });
  const completed = async (walks: number): Promise<void> =>
    await expect.poll(() => running.snapshot().pipelines['issues']?.walks.completed).toBe(walks);
  await completed(1);
  await running.enqueue('issues', [{ repo: 'o/a' }]);
  await completed(2);
  expect(statuses(service)).toEqual([200, 200, 304, 304]);
  await running.stop();
  const found = await records('etag');
  expect(found).toHaveLength(10);
  expect(found.slice(5)).toEqual(found.slice(0, 5));
});

test('requests of another program with the same token are seen in the answers, and not one is refused for them', async () => {
  await using service = await startIssues({ repos: { 'o/a': 30 }, limits: { window: 6, windowMs: 500 } });
  const other = async (): Promise<unknown> =>
    await fetch(`${service.url}/repos/o/a/issues`, { headers: { authorization: 'Bearer token-one' } });
  await Promise.all([other(), other(), other()]);
  await run('shared', issues({ baseUrl: service.url, tokens, repos: ['o/a'], window: { requests: 6, per: 500 } }));
  expect(await records('shared')).toHaveLength(30);
  expect(statuses(service)).toEqual(Array.from({ length: 13 }, () => 200));
});

test('pages that have changed are read again', async () => {
  await using service = await startIssues({ repos: { 'o/a': 2 } });
  await using log = await sqliteTopicLog({ file: join(folder, 'edited.db') });
  const pipeline = issues({ baseUrl: service.url, tokens, repos: ['o/a'] });
  await using running = await start({ log, pipelines: [pipeline], follow: true });
  const completed = async (walks: number): Promise<void> =>
    await expect.poll(() => running.snapshot().pipelines['issues']?.walks.completed).toBe(walks);
  await completed(1);
  service.edit('o/a');
  await running.enqueue('issues', [{ repo: 'o/a' }]);
  await completed(2);
  await running.stop();
  expect(statuses(service)).toEqual([200, 200]);
  expect((await records('edited')).slice(2)).toMatchObject([{ title: 'o/a 1, edition 2' }, { title: 'o/a 2, edition 2' }]);
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
  expect(snapshot.deadLetters.last).toMatchObject([{ key: 'o/a#9', error: { code: 'HEADGATE_NO_ISSUE' } }]);
});

test('a status that the pipeline does not know ends its request at once, and costs one request', async () => {
  await using service = await startIssues({ repos: { 'o/a': 2 }, blocked: ['o/b'] });
  const { deadLetters } = await run('blocked', issues({ baseUrl: service.url, tokens, repos: ['o/b', 'o/a'] }));
  expect(statuses(service).toSorted()).toEqual([200, 451]);
  expect(deadLetters.last).toMatchObject([{ key: 'o/b', error: { code: 'HEADGATE_UNEXPECTED_STATUS' } }]);
});

test('a token that is refused leaves the work to the others', async () => {
  await using service = await startIssues({ repos: { 'o/a': 5 } });
  const revoked = { name: 'old', token: 'revoked' };
  await run('revoked', issues({ baseUrl: service.url, tokens: [revoked, ...tokens], repos: ['o/a'] }));
  expect(await records('revoked')).toHaveLength(5);
});
