import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startFollowers } from '@headgate/sandbox';
import { describe, expect, it } from 'vitest';
import { followersYaml, workplace } from './headgate-process.fixture.ts';

const CREDENTIALS = ['old', 'new'].map((name) => ({ name, bearer: `${name}-never-shown` }));

describe('a secret in a file', () => {
  it('can be replaced during a run, which waits while the file is empty or missing', async () => {
    await using service = await startFollowers({
      users: { a: { followers: 60_000, pageSize: 1_000 } },
      credentials: CREDENTIALS,
      window: { kind: 'rolling', limit: 10_000, windowMs: 1_000 },
      latencyMs: 50,
    });
    await using place = await workplace(yaml(service.url));
    await place.write('token', 'old-never-shown\n');
    const run = place.begin('run');
    const said = (): string => run.text().stderr;
    const signedBy = (name: string): number => service.requests.filter(({ credential }) => credential === name).length;
    await expect.poll(() => signedBy('old')).toBeGreaterThan(2);
    await place.write('token', '\n');
    await expect.poll(said).toMatch(/app: The secret's file \S+token is empty\. Write the secret into it/u);
    await rm(join(place.folder, 'token'));
    await expect.poll(said).toMatch(/app: The secret in \S+token can't be read: ENOENT/u);
    const before = signedBy('old');
    await place.write('token', 'new-never-shown');
    const { code, stderr } = await run.ended;
    expect([code, signedBy('old'), service.requests.filter(({ status }) => status !== 200)]).toEqual([0, before, []]);
    expect(signedBy('new')).toBe(60 - before);
    expect(stderr).toContain('1 job, 60 pages, 60,000 ids');
    expect(stderr).not.toContain('never-shown');
  });

  it('ends the run when the service refuses it, and the next run uses the current content of the file', async () => {
    await using service = await startFollowers({ users: { a: { followers: 3 } }, credentials: CREDENTIALS.slice(1) });
    await using place = await workplace(yaml(service.url));
    await place.write('token', 'old-never-shown');
    const refused = await place.headgate('run');
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(
        /^\S+ @a: app: its token is invalid or expired \(401 .*\)\. Get a new one\. It is no longer used\.\nheadgate: followers credential app: its token is invalid or expired \(401 .*\)\. Get a new one\. Then start the run again\. No data is lost\.\n$/mu,
      ),
    ]);
    expect(service.requests).toHaveLength(1);
    await place.write('token', 'new-never-shown');
    expect(await place.headgate('run')).toMatchObject({ code: 0 });
  });

  it('is reported by check with its place, but without the secret, if it is invalid', async () => {
    await using place = await workplace(`topics: { driver: sqlite, file: ./headgate.db }
status: false
followers:
  baseUrl: http://127.0.0.1:9
  credentials:
    - { name: app, bearer: { file: ./none } }
    - { name: user, oauth1: { consumerKey: { file: ./key }, consumerSecret: { file: ./empty }, token: t, tokenSecret: { file: ./two-lines } } }
  users: [a]
books: { baseUrl: http://127.0.0.1:9, key: { file: ./empty } }
`);
    await place.write('key', 'a-key');
    await place.write('empty', '');
    await place.write('two-lines', 'never-\nshown');
    const { code, stdout, stderr } = await place.headgate('check');
    const said = stdout + stderr;
    expect(code).not.toBe(0);
    expect(said).toMatch(/followers\.credentials\[0\]\.bearer .*The secret in \S+none can't be read: ENOENT/u);
    expect(said).toMatch(/followers\.credentials\[1\]\.oauth1\.tokenSecret .*has a line break/u);
    expect(said).toMatch(/books\.key .*The secret's file \S+empty is empty/u);
    expect(said).not.toContain('shown');
    expect(said).not.toMatch(/oauth1\.consumerKey/u);
  });
});

function yaml(url: string): string {
  return followersYaml({ url, users: ['a'], emit: '[pages]' }).replace('"${TOKEN}"', '{ file: ./token }');
}
