import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startFollowers } from '@headgate/sandbox';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { describe, expect, it } from 'vitest';
import { exactIds, expectChanges } from './changed-followers.fixture.ts';
import { type Workplace, followersYaml, workplace } from './headgate-process.fixture.ts';

const FREELY = { window: { kind: 'rolling', limit: 100_000, windowMs: 1_000 } } as const;

describe('headgate run, emit: [pages, changes]', () => {
  it('writes who followed and unfollowed since the last crawl, and nothing after a first crawl', async () => {
    const before = exactIds({ from: 0, count: 12_000 });
    const after = [...exactIds({ from: 20_000, count: 3 }), ...before.slice(0, 7_000), ...before.slice(7_002)];
    await using place = await workplace('');
    await crawled(place, before);
    expect(await place.records('followers.changes')).toEqual([]);

    const stderr = await crawled(place, after);
    expect(stderr).toContain('@alpha, after its last page: 3 followed, 2 unfollowed');
    expect(stderr).toMatch(/ -> .*followers\.changes \(5\)/);
    const records = await place.records('followers.changes');
    expectChanges(
      records.map(({ value }) => value),
      { before, after },
    );
    expect(records[0]).toMatchObject({
      key: '@alpha',
      partition: 0,
      value: { user: '@alpha', crawl: 'followers.requests-0-1', change: 'followed', id: after[0] },
      headers: { ce_type: 'headgate.followers.changes', ce_source: '/followers', ce_id: `followers.requests-0-1/${after[0]}` },
    });

    // The next crawl is compared with the previous one, not with the first.
    await crawled(place, after.slice(1));
    expect((await place.records('followers.changes')).slice(5).map(({ value }) => value)).toEqual([
      { user: '@alpha', crawl: 'followers.requests-0-2', change: 'unfollowed', id: after[0] },
    ]);
  });

  it('compares a crawl that was killed and resumed like any other', async () => {
    const before = exactIds({ from: 0, count: 600 });
    const after = before.slice(1);
    await using place = await workplace('');
    await crawled(place, before);
    await using service = await startFollowers({ ...FREELY, users: { alpha: { followers: after, pageSize: 50 } }, latencyMs: 20 });
    await place.write('headgate.yaml', `${changesYaml(service.url)}  count: 50\n`);
    await place.headgate('enqueue', 'followers', 'alpha');
    const run = place.start('run');
    while (service.requests.length < 4 && run.child.exitCode === null) await sleep(2);
    run.child.kill('SIGKILL');
    await run.ended;
    expect((await place.headgate('run')).code).toBe(0);
    expectChanges(
      (await place.records('followers.changes')).map(({ value }) => value),
      { before, after },
    );
  });

  it.each([
    { by: 'SIGKILL', code: null, says: /^/u },
    { by: 'SIGTERM', code: 130, says: /Stopped after .* -> .*followers\.changes/su },
  ] as const)('writes each change once, even across a $by between two of them', async ({ by, code, says }) => {
    const before = exactIds({ from: 0, count: 60_000 });
    const after = exactIds({ from: 60_000, count: 60_000 });
    await using place = await workplace('');
    await crawled(place, before);
    await using service = await startFollowers({ ...FREELY, users: { alpha: { followers: after } } });
    await place.write('headgate.yaml', changesYaml(service.url));
    await place.headgate('enqueue', 'followers', 'alpha');

    const run = place.start('run');
    await using log = await sqliteTopicLog({ file: join(place.folder, 'headgate.db') });
    const written = async (): Promise<number> => (await log.listTopics(['followers.changes']))[0]?.offsets[0]?.end ?? 0;
    while ((await written()) === 0 && run.child.exitCode === null) await sleep(1);
    run.child.kill(by);
    expect(await run.ended).toMatchObject({ code, stderr: expect.stringMatching(says) as string });
    const so = await written();
    expect(so % 5_000).toBe(0);
    expect(so).toBeLessThan(120_000);
    expect((await place.headgate('plan')).stdout).toBe('1 piece of work after jobs; no requests needed.\n');

    const last = await place.headgate('run');
    expect([last.code, last.stderr]).toEqual([0, expect.stringMatching(/the comparison of its last two crawls continues[^]* unfollowed/u)]);
    const records = await place.records('followers.changes');
    expectChanges(
      records.map(({ value }) => value),
      { before, after },
    );
    expect(new Set(records.map(({ headers }) => headers['ce_id'])).size).toBe(120_000);
    expect(service.requests).toHaveLength(12);
    expect((await place.headgate('run')).stderr).toContain('Nothing to do');
  });
});

/** Crawls alpha with these followers. Resolves to what the run wrote to stderr. */
async function crawled(place: Workplace, followers: readonly string[]): Promise<string> {
  await using service = await startFollowers({ ...FREELY, users: { alpha: { followers } } });
  await place.write('headgate.yaml', changesYaml(service.url));
  await place.headgate('enqueue', 'followers', 'alpha');
  const { code, stderr } = await place.headgate('run');
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  return stderr;
}

function changesYaml(url: string): string {
  return followersYaml({ url, users: [], emit: '[pages, changes]' });
}
