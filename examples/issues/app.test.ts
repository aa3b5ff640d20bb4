import { join } from 'node:path';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { expect, test } from 'vitest';
import { workplace } from '../../apps/pipeline/src/e2e/headgate-process.fixture.ts';
import { config, throughTheApp } from './app.fixture.ts';
import { startIssues } from './issues-emulator.ts';

test('the command checks, plans, runs over kills in two lanes, takes lines, replays and reads a pipeline that it has never heard of', async () => {
  const topics = 'driver: sqlite, file: ./headgate.db, lanes: 2';
  const openLog = (folder: string) => sqliteTopicLog({ file: join(folder, 'headgate.db') });
  await expect(throughTheApp({ topics, openLog })).resolves.toBeUndefined();
});

test('what is wrong in its section is told with line and column', async () => {
  await using service = await startIssues({ repos: {} });
  const text = config({ service, repos: ['no-owner'] })
    .replace('perMonth', 'perMoth')
    .replace('requests: 5', 'requests: many');
  await using place = await workplace(text);
  const { code, stdout } = await place.headgate('check');
  expect(code).toBe(2);
  const lines = stdout.split('\n').map((line) => line.trim().replaceAll(/ +/g, ' '));
  expect(lines.filter((line) => /^\d+:\d/.test(line))).toEqual([
    '7:23 issues.window.requests must be a number. Write 1.',
    '8:3 issues.perMoth unknown key. Did you mean perMonth?',
    '9:11 issues.repos[0] must be owner/name',
  ]);
});
