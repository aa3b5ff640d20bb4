import { fileURLToPath } from 'node:url';
import type { TopicLog } from '@headgate/topics';
import { expect } from 'vitest';
import { workplace } from '../../apps/pipeline/src/e2e/headgate-process.fixture.ts';
import { type IssuesEmulator, startIssues } from './issues-emulator.ts';

const MODULE = fileURLToPath(new URL('./issues.ts', import.meta.url));
const LIMIT = { window: 5, windowMs: 500 };

interface ConfigOptions {
  readonly service: IssuesEmulator;
  readonly repos: readonly string[];
  /** Settings of the topics section. Default: an embedded log. */
  readonly topics?: string;
}

export function config({ service, repos, topics = 'driver: sqlite, file: ./headgate.db' }: ConfigOptions): string {
  return `topics: { ${topics} }
status: false
issues:
  use: ${JSON.stringify(MODULE)}
  baseUrl: ${service.url}
  tokens: [{ name: one, token: "\${TOKEN}" }, { name: two, token: "\${KEY}" }]
  window: { requests: ${LIMIT.window}, per: ${LIMIT.windowMs}ms }
  perMonth: 1000
  repos: [${repos.join(', ')}]
`;
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
const refused = ({ requests }: IssuesEmulator): number => requests.filter(({ status }) => status === 429 || status === 403).length;

export interface ThroughTheAppOptions {
  readonly topics: string;
  /** Opens the log that `topics` configures, in the command's folder. */
  readonly openLog: (folder: string) => Promise<TopicLog>;
}

/** Tests the pipeline with the real command: check, plan, run with kills, enqueue, replay and read. */
export async function throughTheApp({ topics, openLog }: ThroughTheAppOptions): Promise<void> {
  const repos: Record<string, number> = { 'o/a': 30, 'o/b': 29, 'o/c': 28, 'o/d': 4 };
  await using service = await startIssues({ repos, limits: LIMIT });
  const listed = ['o/a', 'o/b', 'o/c', 'o/gone'];
  await using place = await workplace(config({ service, repos: listed, topics }));
  const numbers = async (repo: string): Promise<unknown[]> => {
    await using log = await openLog(place.folder);
    const records = await Array.fromAsync(log.read({ topic: 'issues.records' }));
    return records.filter(({ key }) => key === repo).map(({ value }) => (JSON.parse(value ?? 'null') as { number: number }).number);
  };
  expect(await place.headgate('check')).toMatchObject({ code: 0 });
  expect(await place.headgate('plan')).toMatchObject({ code: 0 });
  expect(service.requests.filter(({ path }) => path.includes('issues?'))).toEqual([]);

  for (let kills = 0; kills < 3; kills += 1) {
    const before = service.requests.length;
    const { child, ended } = place.start('run');
    while (service.requests.length < before + 5 && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 5));
    child.kill('SIGKILL');
    await ended;
  }
  // The exit code is 1 if this run has written the dead letter, and 0 if a killed one has.
  const { code, stderr } = await place.headgate('run');
  expect([0, 1], stderr).toContain(code);
  const { stdout: letters } = await place.headgate('read', 'issues.dead-letters', '--json');
  expect(JSON.parse(letters)).toMatchObject({ key: 'o/gone', value: { error: { code: 'HEADGATE_NOT_FOUND' } } });
  for (const repo of ['o/a', 'o/b', 'o/c']) expect(await numbers(repo)).toEqual(upTo(repos[repo] ?? 0));
  expect(refused(service)).toBe(0);

  expect(await place.headgateWith({ input: 'o/d\no/a#7\n' }, 'enqueue', 'issues', '-')).toMatchObject({
    code: 0,
    stderr: '2 jobs added to issues.requests\n',
  });
  expect(await place.headgate('enqueue', 'issues', 'no repository')).toMatchObject({ code: 2 });
  repos['o/gone'] = 5;
  expect(await place.headgate('replay', 'issues.dead-letters')).toMatchObject({ code: 0, stderr: '1 re-enqueued into issues.requests\n' });
  expect(await place.headgate('run')).toMatchObject({ code: 0 });
  expect([await numbers('o/d'), await numbers('o/gone'), await numbers('o/a#7')]).toEqual([upTo(4), upTo(5), [7]]);
  const { stdout: read } = await place.headgate('read', 'issues.records', '--max', '1', '--json');
  expect(JSON.parse(read)).toMatchObject({ topic: 'issues.records', value: { number: 1 } });
}
