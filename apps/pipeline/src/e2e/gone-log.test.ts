import { existsSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startBooks, startFollowers } from '@headgate/sandbox';
import { describe, expect, it } from 'vitest';
import { type Workplace, followersYaml, workplace } from './headgate-process.fixture.ts';

const GONE = /\S+headgate\.db\S* was deleted or moved while the topic log was in use; later writes are not confirmed\./gu;

describe('an embedded log whose file disappears while a command runs', () => {
  it('ends a run with exit 1 and the reason, and does not report unwritten work as done', async () => {
    await using service = await startFollowers({ users: { alpha: { followers: 1 } }, latencyMs: 1_500 });
    await using place = await workplace(followersYaml({ url: service.url, users: ['alpha'] }));
    const run = place.begin('run');
    await expect.poll(() => service.requests.length + Number(existsSync(join(place.folder, 'headgate.db-wal')))).toBe(2);
    await deleteLog(place);
    const { code, stderr } = await run.ended;
    expect([code, stderr.match(GONE)?.length]).toEqual([1, 1]);
    expect(stderr).not.toMatch(/Done|1 page/u);
    expect(existsSync(join(place.folder, 'headgate.db'))).toBe(false);
  });

  it.each(['deleted', 'moved'])('ends a run that follows, whose status is then not ready: %s', async (how) => {
    await using followers = await startFollowers({ users: { alpha: { followers: 1 } } });
    await using books = await startBooks();
    const config = followersYaml({ url: followers.url, users: ['alpha'] }).replace('status: false', 'status: { port: 0 }');
    await using place = await workplace(`${config}\nbooks: { plan: premium, baseUrl: "${books.url}", key: "\${KEY}" }\n`);
    const run = place.start('run', '--follow');
    await expect.poll(() => run.text().stderr).toMatch(/status at \S+[^]*@alpha/u);
    const url = new URL('readyz', /status at (\S+)/u.exec(run.text().stderr)?.[1]);
    expect((await fetch(url)).status).toBe(200);
    if (how === 'deleted') await deleteLog(place);
    else await rename(join(place.folder, 'headgate.db'), join(place.folder, 'moved.db'));
    const answers: (number | undefined)[] = [];
    while (run.child.exitCode === null) {
      const answer = await fetch(url).catch(() => undefined);
      answers.push(answer?.status);
      await answer?.text();
    }
    const { code, stderr } = await run.ended;
    expect([code, stderr.match(GONE)?.length]).toEqual([1, 2]);
    answers.push((await fetch(url).catch(() => undefined))?.status);
    const firstBad = answers.findIndex((status) => status !== 200);
    expect(answers.slice(firstBad)).not.toContain(200);
  });

  it('ends a reader that waits for new records', async () => {
    await using service = await startFollowers({ users: { alpha: { followers: 3 } } });
    await using place = await workplace(followersYaml({ url: service.url, users: ['alpha'] }));
    expect((await place.headgate('run')).code).toBe(0);
    const read = place.begin('read', 'followers.ids', '--follow', '--json');
    await expect.poll(() => read.text().stdout.split('\n').length).toBe(4);
    await deleteLog(place);
    const { code, stderr } = await read.ended;
    expect([code, stderr.match(GONE)?.length]).toEqual([1, 1]);
  });
});

async function deleteLog(place: Workplace): Promise<void> {
  for (const name of await readdir(place.folder))
    if (name.startsWith('headgate.db')) await rm(join(place.folder, name), { recursive: true });
}
