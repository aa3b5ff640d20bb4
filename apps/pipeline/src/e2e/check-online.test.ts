import { sampleIsbn, startBooks, startFollowers } from '@headgate/sandbox';
import { describe, expect, it } from 'vitest';
import { followersYaml, workplace } from './headgate-process.fixture.ts';

describe('headgate check --online', () => {
  it('sends a request that the next run counts, and counts those of earlier runs', async () => {
    const window = { kind: 'rolling', limit: 2, windowMs: 3_600_000 } as const;
    await using followers = await startFollowers({ users: { a: { followers: 1 }, b: { followers: 1 } }, window });
    await using books = await startBooks({ window: { limit: 1, windowMs: 1_000 } });
    const yaml = followersYaml({ url: followers.url, users: ['a', 'b'], limit: '{ requests: 2, window: 1h }' });
    await using place = await workplace(`${yaml}books: { baseUrl: "${books.url}", key: "\${KEY}", isbns: ["${sampleIsbn(1)}"] }\n`);
    const check = await place.headgate('check', '--online');
    expect([check.code, check.stdout]).toEqual([0, expect.stringMatching(/followers app +answers\n +books +answers\n$/u)]);

    const run = place.begin('run');
    await expect.poll(() => run.text().stderr).toMatch(/waits for followers app, 2\/2 used/u);
    run.interrupt();
    expect((await run.ended).code).toBe(130);
    expect(followers.requests.map(({ status }) => status)).toEqual([200, 200]);
    expect(books.requests.filter(({ status }) => status !== 200)).toEqual([]);

    const again = await place.headgate('check', '--online');
    expect([again.code, again.stdout]).toEqual([
      0,
      expect.stringMatching(/followers app +not tested: its budget is used up until (?:tomorrow )?\d/u),
    ]);
    expect(followers.requests).toHaveLength(2);
  });

  it('skips a credential that a run is using', async () => {
    await using service = await startFollowers({
      users: { a: { followers: 1 } },
      window: { kind: 'rolling', limit: 100, windowMs: 1_000 },
    });
    await using place = await workplace(followersYaml({ url: service.url, users: ['a'] }));
    const run = place.start('run', '--follow');
    await expect.poll(() => service.requests.length).toBe(1);
    const { code, stdout } = await place.headgate('check', '--online');
    const pid = String(run.child.pid);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`not tested: a run (process ${pid}) uses it and counts its requests.`)]);
    expect(service.requests).toHaveLength(1);
    run.child.kill('SIGINT');
    expect((await run.ended).code).toBe(130);
  });

  it('spends only the one request that it reports, even if the service fails', async () => {
    await using followers = await startFollowers({ users: { a: { followers: 1 } }, faults: [{ name: '503', at: 1, times: 9 }] });
    await using books = await startBooks({ faults: [{ name: '503', at: 1, times: 9 }] });
    const yaml = followersYaml({ url: followers.url, users: ['a'] });
    await using place = await workplace(`${yaml}books: { baseUrl: "${books.url}", key: "\${KEY}", isbns: ["${sampleIsbn(1)}"] }\n`);
    const { code, stdout } = await place.headgate('check', '--online');
    const later = /gave up after 1 attempt: the service .*503.*\. Check again later; a run retries automatically.$/gmu;
    expect([code, stdout.match(later)]).toEqual([1, [expect.any(String), expect.any(String)]]);
    expect([followers.requests.length, books.requests.length]).toEqual([1, 1]);
  });

  it('sends no second request if the first is rate-limited', async () => {
    const window = { kind: 'rolling', limit: 1, windowMs: 1_000 } as const;
    await using service = await startFollowers({ users: { a: { followers: 1 } }, window, faults: [{ name: '429', at: 1 }] });
    await using place = await workplace(followersYaml({ url: service.url, users: ['a'] }));
    const { code, stdout } = await place.headgate('check', '--online');
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/followers app +responds: the rate limit is reached \(429\), so another program uses its budget\n/u),
    ]);
    expect(service.requests).toHaveLength(1);
  });

  it('leaves the partitions for more lanes to a run, like every other command, and refuses lanes that no run can have', async () => {
    await using service = await startFollowers({ users: { a: { followers: 1 } } });
    const yaml = followersYaml({ url: service.url, users: ['a'] });
    await using place = await workplace(yaml);
    expect((await place.headgate('run')).code).toBe(0);
    const configure = (lanes: number): Promise<void> =>
      place.write(
        'headgate.yaml',
        yaml
          .replace('./headgate.db', `./headgate.db, lanes: ${lanes}`)
          .replace('limit:', lanes === 2 ? '  - { name: other, bearer: "${KEY}" }\n  limit:' : 'limit:'),
      );
    const commands = [
      ['check', '--online'],
      ['cancel', 'followers', '@nobody'],
      ['dismiss', 'followers'],
      ['enqueue', 'followers', 'a'],
    ];
    await configure(10);
    for (const command of commands) {
      const { code, stdout, stderr } = await place.headgate(...command);
      expect([code, stdout + stderr]).toEqual([2, expect.stringContaining('10 lanes need at least 10 followers credentials')]);
    }
    await configure(2);
    const codes: (number | null)[] = [];
    for (const command of commands) codes.push((await place.headgate(...command)).code);
    expect(codes).toEqual([0, 1, 0, 0]);
    expect(service.requests).toHaveLength(3);
    await place.write('headgate.yaml', yaml);
    expect(await place.headgate('run')).toMatchObject({ code: 0 });
    await configure(2);
    const { code, stderr } = await place.headgate('run');
    expect([code, stderr]).toEqual([0, expect.stringContaining('followers.requests (1 to 2)')]);
  });

  it('sends nothing if its request can’t be recorded', async () => {
    await using service = await startFollowers({ users: { a: { followers: 1 } } });
    await using place = await workplace(followersYaml({ url: service.url, users: ['a'] }).replace('./headgate.db', './none.txt'));
    await place.write('none.txt', 'no log');
    const { code, stdout } = await place.headgate('check', '--online');
    expect([code, stdout]).toEqual([1, expect.stringMatching(/followers app +not tested: its request couldn't be recorded in the log/u)]);
    expect(service.requests).toHaveLength(0);
  });
});
