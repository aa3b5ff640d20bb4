import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startFollowers } from '@headgate/sandbox';
import { describe, expect, it } from 'vitest';
import { followersYaml, workplace } from './headgate-process.fixture.ts';

/** Set by `npm run torture`, for more kills and longer crawls. */
const TORTURE = process.env['HEADGATE_TORTURE'] === '1';

describe('headgate run, killed', () => {
  it.each([
    { repeats: 1, more: '  unwrittenPages: 1\n' },
    { repeats: 8, more: '  unwrittenPages: 8\n' },
  ])(
    'writes every id once and in order, whenever it is killed, and repeats at most $repeats pages per kill',
    { timeout: 600_000 },
    async ({ repeats, more }) => {
      const { kills, pages } = TORTURE ? { kills: 50, pages: 200 } : { kills: 8, pages: 60 };
      await using service = await startFollowers({
        users: { alpha: { followers: pages * 100, pageSize: 100 } },
        window: { kind: 'rolling', limit: 100_000, windowMs: 1_000 },
        latencyMs: { min: 0, max: 20 },
      });
      await using place = await workplace(followersYaml({ url: service.url, users: ['alpha'], more: `  count: 100\n${more}` }));
      const random = seeded(7);
      let killed = 0;
      while (killed < kills) {
        const before = service.requests.length;
        const run = place.start('run');
        // Kills the run at a random time within a few pages after its first request.
        while (service.requests.length === before && run.child.exitCode === null) await tick(2);
        await tick(random() * 4 * (20 / 2 + 5));
        run.child.kill('SIGKILL');
        const { signal } = await run.ended;
        if (signal !== 'SIGKILL') break;
        killed += 1;
      }
      expect(killed).toBe(kills);
      expect((await place.headgate('run')).code).toBe(0);
      const ids = (await place.records('followers.ids')).map(({ value }) => value['id']);
      expect(ids).toEqual(service.followersOf('alpha'));
      expect((await place.records('followers.pages')).map(({ value }) => value['page'])).toEqual(
        Array.from({ length: pages }, (_, i) => i + 1),
      );
      expect(service.requests.length).toBeLessThanOrEqual(pages + repeats * kills);
      expect((await place.records('followers.crawls')).map(({ value }) => value['state'])).toEqual(['started', 'completed']);
    },
  );

  it('continues in the same windows after a kill, so that the service refuses nothing', async () => {
    const { kills, windowMs } = TORTURE ? { kills: 8, windowMs: 8_000 } : { kills: 2, windowMs: 6_000 };
    await using service = await startFollowers({
      users: { alpha: { followers: (kills + 1) * 150, pageSize: 10 } },
      window: { kind: 'rolling', limit: 15, windowMs },
      latencyMs: { min: 0, max: 30 },
    });
    const limit = `{ requests: 15, window: ${windowMs}ms }`;
    await using place = await workplace(followersYaml({ url: service.url, users: ['alpha'], limit, more: '  count: 10\n' }));
    const random = seeded(11);
    for (let killed = 0; killed < kills; killed += 1) {
      const before = service.requests.length;
      const run = place.start('run');
      while (service.requests.length <= before + 6 + 8 * random() && run.child.exitCode === null) await tick(2);
      run.child.kill('SIGKILL');
      expect((await run.ended).signal).toBe('SIGKILL');
    }
    expect((await place.headgate('run')).code).toBe(0);
    expect(service.requests.filter(({ status }) => status !== 200)).toEqual([]);
    expect((await place.records('followers.ids')).map(({ value }) => value['id'])).toEqual(service.followersOf('alpha'));
  });

  it('ends after a SIGTERM with the work in flight written, and continues from there', async () => {
    await using service = await startFollowers({
      users: { alpha: { followers: 4_000, pageSize: 100 } },
      window: { kind: 'rolling', limit: 100_000, windowMs: 1_000 },
      latencyMs: 200,
    });
    await using place = await workplace(followersYaml({ url: service.url, users: ['alpha'], more: '  count: 100\n' }));
    const run = place.start('run');
    while (service.requests.length < 4) await tick(5);
    run.child.kill('SIGTERM');
    const { code, stderr } = await run.ended;
    expect(code).toBe(130);
    // A stop that takes too long ends without this message.
    expect(stderr).toContain('Stopped after');
    // The response of the request in flight was still written.
    expect(await place.records('followers.pages')).toHaveLength(service.requests.length);
    const asked = service.requests.length;
    expect((await place.headgate('run')).code).toBe(0);
    expect(service.requests.length).toBe(40);
    expect(asked).toBeLessThan(40);
  });

  it('refuses a second process on the same log, and leaves the first alone', async () => {
    await using service = await startFollowers({
      users: { alpha: { followers: 2_000, pageSize: 100 } },
      window: { kind: 'rolling', limit: 100_000, windowMs: 1_000 },
    });
    await using gate = await gateBefore(service.url, 2);
    await using place = await workplace(followersYaml({ url: gate.url, users: ['alpha'], more: '  count: 100\n  timeout: 1h\n' }));
    const first = place.start('run');
    await gate.held;
    const second = await place.headgate('run');
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(new RegExp(`process ${first.child.pid}|pid ${first.child.pid}`));
    // Commands that only read or enqueue can use the log.
    expect((await place.headgate('read', 'followers.pages', '--max', '1', '--json')).stdout).toContain('"page":1');
    expect((await place.headgate('enqueue', 'followers', 'alpha')).code).toBe(0);
    expect((await place.headgate('plan')).stdout).toContain('@alpha');
    gate.open();
    expect((await first.ended).code).toBe(0);
    expect((await place.records('followers.crawls')).filter(({ value }) => value['state'] === 'completed')).toHaveLength(2);
  });
});

/** A proxy in front of a service. It passes the first `passing` requests on, and holds all others until it is opened. */
async function gateBefore(url: string, passing: number) {
  const [held, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let passed = 0;
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    passed += 1;
    if (passed > passing) {
      held.resolve();
      await opened.promise;
    }
    const answer = await fetch(`${url}${request.url}`, { headers: { authorization: request.headers.authorization ?? '' } });
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  };
  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Resolves when the first request is held. */
    held: held.promise,
    open: () => opened.resolve(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function tick(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** The random generator Mulberry32, so that every run of the test uses the same delays. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
