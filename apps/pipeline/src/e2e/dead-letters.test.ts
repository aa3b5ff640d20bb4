import { readdir } from 'node:fs/promises';
import { startFollowers } from '@headgate/sandbox';
import { describe, expect, it } from 'vitest';
import { followersYaml, workplace } from './headgate-process.fixture.ts';

const FREELY = { window: { kind: 'rolling', limit: 100_000, windowMs: 1_000 } } as const;

describe('open dead letters', () => {
  it('of one key are listed under that key alone', async () => {
    await using service = await startFollowers({ ...FREELY, users: { a: { protected: true } } });
    await using place = await workplace(followersYaml({ url: service.url, users: ['a'] }));
    await place.headgate('run');
    await place.headgate('enqueue', 'followers', '@a');
    await place.headgate('run');
    expect((await place.headgate('dead-letters', 'followers')).stdout).toMatch(/ 2 dead letters since .*: @a$/mu);
  });

  it('are counted by a dry run without creating the log', async () => {
    await using place = await workplace(followersYaml({ url: 'http://127.0.0.1:1', users: [] }));
    for (const command of ['replay', 'dismiss']) {
      expect(await place.headgate(command, 'followers', '--dry-run')).toMatchObject({
        code: 0,
        stderr: 'followers.dead-letters has no open dead letter\n',
      });
    }
    expect(await readdir(place.folder)).toEqual(['headgate.yaml']);
  });

  it('are reported by run, plan, check, the status page and /metrics until they are replayed or dismissed', async () => {
    const users = { a: { protected: true }, b: { protected: true }, c: { followers: 3 } };
    await using service = await startFollowers({ ...FREELY, users });
    await using place = await workplace(followersYaml({ url: service.url, users: ['a', 'b', 'c', 'nobody'] }));
    const first = await place.headgate('run');
    expect(first.code).toBe(1);

    const again = await place.headgate('run');
    expect(again.code).toBe(0);
    expect(again.stderr).toMatch(
      /^Nothing to do[^]*followers: 3 dead letters are open \((HEADGATE_\w+) 2, (HEADGATE_\w+) 1\): headgate dead-letters followers$/mu,
    );
    const [, twice = '', single = ''] = /open \((HEADGATE_\w+) 2, (HEADGATE_\w+) 1\)/u.exec(again.stderr) ?? [];
    expect((await place.headgate('run', '--fail-on-dead-letters')).code).toBe(1);
    const open = { open_dead_letters: { followers: { [twice]: 2, [single]: 1 } } };
    expect(ended((await place.headgate('run', '--json')).stderr)).toMatchObject({ exit_code: 0, ...open });
    expect((await place.headgate('plan')).stdout).toMatch(/^followers: 3 dead letters are open/mu);
    expect(JSON.parse((await place.headgate('plan', '--json')).stdout)).toMatchObject(open);
    expect((await place.headgate('check')).stdout).toMatch(/warning: followers: 3 dead letters are open/u);
    expect(JSON.parse((await place.headgate('check', '--json')).stdout)).toMatchObject({ ok: true, ...open });

    const list = await place.headgate('dead-letters', 'followers');
    expect(list.stdout).toMatch(new RegExp(`^${twice} +2 dead letters since .*: @[ab], @[ab]$`, 'mu'));
    expect(list.stdout).toContain('headgate replay followers [--code CODE] [--key KEY]');
    const lines = (await place.headgate('dead-letters', 'followers.dead-letters', '--json', '--code', twice)).stdout.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({ topic: 'followers.dead-letters', partition: 0, key: expect.stringMatching(/@[ab]/u), code: twice }),
      expect.objectContaining({ key: expect.stringMatching(/@[ab]/u) }),
    ]);

    expect((await place.headgate('replay', 'followers', '--key', '@a', '--dry-run')).stderr).toContain('1 would be re-enqueued');
    expect((await place.headgate('replay', 'followers', '--key', '@a')).stderr).toBe('1 re-enqueued into followers.requests\n');
    expect((await place.headgate('dismiss', 'followers', '--code', single)).stderr).toBe('1 dead letter dismissed\n');
    expect((await place.headgate('dismiss', 'followers', '--code', single)).stderr).toContain('has no open dead letter with code');
    for (const command of ['replay', 'dismiss']) {
      const none = await place.headgate(command, 'followers', '--key', 'nokey');
      expect([none.code, none.stderr]).toEqual([
        0,
        expect.stringMatching(
          /^0 .*: followers\.dead-letters has no open dead letter with key nokey\. .*: headgate dead-letters followers\n$/,
        ),
      ]);
    }
    const unlisted = await place.headgate('dead-letters', 'followers', '--key', 'nokey');
    expect([unlisted.code, unlisted.stdout, unlisted.stderr]).toEqual([
      0,
      '',
      'followers.dead-letters has no open dead letter with key nokey. To list all: headgate dead-letters followers\n',
    ]);
    expect((await place.headgate('dead-letters', 'followers', '--key', 'nokey', '--json')).stderr).toBe(unlisted.stderr);
    expect((await place.headgate('plan')).stdout).toMatch(/followers: 1 dead letter is open/u);
    const requested = service.requests.length;
    expect((await place.headgate('run')).code).toBe(1);
    expect(service.requests.length).toBe(requested + 1);
    expect((await place.headgate('dismiss', 'followers')).stderr).toBe('2 dead letters dismissed\n');
    expect((await place.headgate('run', '--fail-on-dead-letters')).code).toBe(0);
    expect((await place.headgate('dead-letters', 'followers')).stdout).toBe('No open dead letter in followers.dead-letters.\n');
    expect((await place.headgate('dead-letters', 'followers.pages')).code).toBe(2);
    // Replayed and dismissed dead letters stay in their topic.
    expect(await place.records('followers.dead-letters')).toHaveLength(4);
  });

  it('of earlier runs are on the status page and in /metrics of a run that follows', async () => {
    await using service = await startFollowers({ ...FREELY, users: { a: { protected: true } } });
    await using place = await workplace(followersYaml({ url: service.url, users: ['a'] }));
    expect((await place.headgate('run')).code).toBe(1);
    await place.write('headgate.yaml', followersYaml({ url: service.url, users: ['a'] }).replace('status: false', 'status: { port: 0 }'));
    const run = place.begin('run', '--follow');
    await expect.poll(() => /status at (http:\S+)/u.exec(run.text().stderr)?.[1]).toBeDefined();
    const url = /status at (http:\S+)/u.exec(run.text().stderr)?.[1] ?? '';
    const body = async (path: string): Promise<string> => await (await fetch(new URL(path, url))).text();
    await expect.poll(() => body('metrics')).toMatch(/^headgate_dead_letters_open\{pipeline="followers",code="HEADGATE_\w+"\} 1$/mu);
    const page = await fetch(new URL('screen.json', url));
    run.interrupt();
    expect(await page.text()).toMatch(/followers: 1 dead letter is open \(HEADGATE_\w+ 1\): headgate dead-letters followers/u);
    expect((await run.ended).code).toBe(130);
  });
});

function ended(stderr: string): unknown {
  return stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly event?: string })
    .find(({ event }) => event === 'run-ended');
}
