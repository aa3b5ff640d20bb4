import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { describe, expect, it } from 'vitest';
import { recordSchemas } from '../records/index.ts';
import { SECRETS, followersYaml, workplace } from './headgate-process.fixture.ts';
import { type HttpService, httpService } from './http-service.fixture.ts';
import { memoryMb, reportFigure } from './kafka/process-figures.fixture.ts';
import { spawnOnLifeline } from './lifeline.fixture.ts';

const BOOTSTRAP = fileURLToPath(new URL('../../../../scripts/bootstrap.mjs', import.meta.url));
const TORTURE = process.env['HEADGATE_TORTURE'] === '1';
const IDS = 10_000_000;
const PAGE_SIZE = 5_000;
/** Maximum memory of each process of the command. */
const MAX_MB = 250;

describe('headgate run, as the repository starts it', () => {
  it.runIf(TORTURE && process.platform === 'linux').each([0.01, 0.5])(
    `compares ${IDS} ids with ${IDS} of which it knows all but a share of %d, each change exact, in ${MAX_MB} MB`,
    async (share) => {
      const changed = IDS * share;
      await using place = await workplace('');
      const crawls: { readonly mb: number; readonly seconds: number }[] = [];
      for (const first of [0, changed]) {
        await using service = await startService(first);
        await place.write('headgate.yaml', followersYaml({ url: service.url, users: [], emit: '[pages, changes]' }));
        expect((await place.headgate('enqueue', 'followers', 'alpha')).code).toBe(0);
        crawls.push(await peakOfRun(place.folder));
      }
      const words = crawls.map(({ mb, seconds }) => `${mb} MB, ${seconds} s`);
      reportFigure(
        `${IDS} ids against ${IDS}, ${share * 100} % of them others: first crawl ${words[0]}, second with its comparison ${words[1]}`,
      );
      await expectChanges(place.folder, changed);
      expect(Math.max(...crawls.map(({ mb }) => mb))).toBeLessThan(MAX_MB);
    },
  );
});

/** The ID at a position of an endless list. Each crawl gets a section of that list. */
function idAt(index: number): string {
  return String(2n ** 60n + 7_919n * BigInt(index));
}

/** A service with one user, whose followers are a section of the list from `first` on. It keeps no IDs in memory. */
async function startService(first: number): Promise<HttpService> {
  return await httpService((request, response) => {
    const cursor = new URL(request.url ?? '', 'http://localhost').searchParams.get('cursor');
    const from = cursor === '-1' ? 0 : Number(cursor);
    const to = Math.min(IDS, from + PAGE_SIZE);
    const ids = Array.from({ length: to - from }, (_, i) => idAt(first + from + i));
    const next = to < IDS ? String(to) : '0';
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ ids, next_cursor: Number(next), next_cursor_str: next, previous_cursor: 0, previous_cursor_str: '0' }));
  });
}

/** Runs Headgate until it ends. Resolves to its duration, and to the peak memory of its largest process. */
async function peakOfRun(folder: string): Promise<{ readonly mb: number; readonly seconds: number }> {
  const began = performance.now();
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, INIT_CWD: folder, ...SECRETS };
  const child = spawnOnLifeline([process.execPath, BOOTSTRAP, 'headgate', 'run'], { cwd: folder, env, stdin: 'ignore' });
  let said = '';
  child.stdout?.resume();
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = once(child, 'close');
  let mb = 0;
  while (child.exitCode === null && child.signalCode === null) {
    for (const pid of await withDescendants(child.pid ?? 0)) mb = Math.max(mb, (await memoryMb(pid)).peak);
    await sleep(100);
  }
  await ended;
  expect({ code: child.exitCode, said }).toMatchObject({ code: 0 });
  return { mb, seconds: Math.round((performance.now() - began) / 1_000) };
}

async function withDescendants(pid: number): Promise<readonly number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const below = children.split(' ').filter((text) => text !== '');
  return [pid, ...(await Promise.all(below.map((text) => withDescendants(Number(text))))).flat()];
}

/** Expects each change once: first those who followed, in the order of the later crawl, then the others in the order of the earlier one. */
async function expectChanges(folder: string, changed: number): Promise<void> {
  await using log = await sqliteTopicLog({ file: join(folder, 'headgate.db') });
  let seen = 0;
  for await (const { value } of log.read({ topic: 'followers.changes' })) {
    const { change, id } = recordSchemas['followers.changes'].parse(JSON.parse(value ?? ''));
    const expected = seen < changed ? `followed ${idAt(IDS + seen)}` : `unfollowed ${idAt(seen - changed)}`;
    // Calling `expect` for each change would take minutes.
    if (`${change} ${id}` !== expected) throw new Error(`Change ${seen} is ${change} ${id}, not ${expected}.`);
    seen += 1;
  }
  expect(seen).toBe(2 * changed);
}
