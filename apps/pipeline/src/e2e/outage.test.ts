import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';
import { startFollowers } from '@headgate/sandbox';
import { expect, it } from 'vitest';
import { type Running, followersYaml, workplace } from './headgate-process.fixture.ts';

/** A proxy in front of a service, at its own address. While it is shut, it refuses connections. */
async function door(url: string) {
  const target = Number(new URL(url).port);
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
  };
  const open = async (at: number): Promise<number> => {
    const opened = createServer((socket) => {
      const inner = connect(target, '127.0.0.1');
      keep(socket);
      keep(inner);
      socket.on('close', () => inner.destroy());
      inner.on('close', () => socket.destroy());
      socket.pipe(inner).pipe(socket);
    });
    await new Promise<void>((resolve) => opened.listen(at, '127.0.0.1', resolve));
    server = opened;
    return (opened.address() as AddressInfo).port;
  };
  const shut = async (): Promise<void> => {
    const shutting = server;
    server = undefined;
    await new Promise<void>((resolve) => {
      if (shutting === undefined) resolve();
      else shutting.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  };
  const port = await open(0);
  return { url: `http://127.0.0.1:${port}`, open: async () => await open(port), shut, [Symbol.asyncDispose]: shut };
}

/** The fate of a request: its response is passed on, doesn't come (the connection is closed, or stays open), or is replaced. */
type Fate = 'pass' | 'closed' | 'silent' | { readonly status: number; readonly headers: Readonly<Record<string, string>> };

/** A proxy in front of a service. It notes the time of each request, in monotonic ms. */
async function gate(url: string, fateOf: () => Fate) {
  const cameAt: number[] = [];
  const server = createHttpServer((request, response) => {
    cameAt.push(performance.now());
    const fate = fateOf();
    if (typeof fate === 'object') {
      response.writeHead(fate.status, fate.headers).end();
      return;
    }
    if (fate === 'silent') return;
    if (fate === 'closed') {
      response.destroy();
      return;
    }
    const serve = async (): Promise<void> => {
      const answer = await fetch(`${url}${request.url}`, { headers: { authorization: request.headers.authorization ?? '' } });
      const body = Buffer.from(await answer.arrayBuffer());
      response.writeHead(answer.status, { 'content-type': 'application/json', 'content-length': body.length });
      response.end(body);
    };
    serve().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cameAt,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function eventsOf(run: Running): readonly Readonly<Record<string, unknown>>[] {
  const lines = run.text().stderr.split('\n');
  return lines.flatMap((line) =>
    line.startsWith('{') && line.endsWith('}') ? [JSON.parse(line) as Readonly<Record<string, unknown>>] : [],
  );
}

const failed = (run: Running): number =>
  eventsOf(run).filter(({ event, outcome }) => event === 'attempt' && outcome === 'transient').length;
const told = (run: Running, event: string): number => eventsOf(run).filter((one) => one['event'] === event).length;

it('an outage longer than `retryFor` costs some attempts, even across a kill, and no request', async () => {
  const users = Array.from({ length: 50 }, (_, i) => `user_${i}`);
  await using service = await startFollowers({
    users: Object.fromEntries(users.map((user) => [user, { followers: 20, pageSize: 10 }])),
    window: { kind: 'rolling', limit: 100_000, windowMs: 1_000 },
  });
  await using front = await door(service.url);
  const limit = '{ requests: 25, window: 1s }';
  await using place = await workplace(followersYaml({ url: front.url, users, limit, more: '  count: 10\n  retryFor: 500ms\n' }));

  const first = place.start('run', '--json');
  await expect.poll(() => service.requests.length).toBeGreaterThan(5);
  await front.shut();
  await expect.poll(() => told(first, 'service-unavailable')).toBe(1);
  const served = service.requests.length;
  first.child.kill('SIGKILL');
  expect((await first.ended).signal).toBe('SIGKILL');

  const second = place.begin('run', '--json');
  await expect.poll(() => told(second, 'service-unavailable')).toBe(1);
  // All requests can be in flight before the outage is noticed. From then on, only one at a time is sent.
  expect(failed(first)).toBeLessThanOrEqual(users.length + 10);
  expect(failed(second)).toBeLessThanOrEqual(users.length + 10);
  expect(service.requests).toHaveLength(served);
  await front.open();
  expect((await second.ended).code).toBe(0);

  expect([told(second, 'service-unavailable'), told(second, 'service-available')]).toEqual([1, 1]);
  expect(await place.records('followers.dead-letters')).toEqual([]);
  const ids = (await place.records('followers.ids')).map(({ key, value }) => `${key} ${String(value['id'])}`);
  expect(ids.toSorted()).toEqual(users.flatMap((user) => service.followersOf(user).map((id) => `@${user} ${id}`)).toSorted());
});

it('a service without responses, and rate limits after the outage, costs no request across a Ctrl-C', async () => {
  const users = Array.from({ length: 12 }, (_, i) => `user_${i}`);
  await using service = await startFollowers({
    users: Object.fromEntries(users.map((user) => [user, { followers: 20, pageSize: 10 }])),
    window: { kind: 'rolling', limit: 100_000, windowMs: 1_000 },
  });
  const limit = 20;
  const fates: Fate[] = ['pass'];
  let isDown = true;
  await using front = await gate(
    service.url,
    () => fates.shift() ?? (!isDown ? 'pass' : front.cameAt.length % 2 === 0 ? 'closed' : 'silent'),
  );
  const more = '  count: 10\n  retryFor: 100ms\n  timeout: 5s\n';
  await using place = await workplace(followersYaml({ url: front.url, users, limit: `{ requests: ${limit}, window: 1s }`, more }));

  const first = place.begin('run');
  await expect.poll(() => first.text().stderr).toContain('followers: every attempt fails');
  first.interrupt();
  const { code, stderr } = await first.ended;
  expect(code).toBe(130);
  // `At least` appears if the first process ends before it has counted the remaining jobs.
  expect(stderr).toMatch(
    /^Waited for: {7}followers: every attempt failed for the last .* \(\d+ attempts\): .+\. (?:12|At least \d+) jobs? stays? for the next run\.$/mu,
  );

  const second = place.begin('run', '--json');
  await expect.poll(() => told(second, 'service-unavailable')).toBe(1);
  fates.push({ status: 429, headers: { 'retry-after': '1' } });
  isDown = false;
  expect((await second.ended).code).toBe(0);

  expect(await place.records('followers.dead-letters')).toEqual([]);
  const ids = (await place.records('followers.ids')).map(({ key, value }) => `${key} ${String(value['id'])}`);
  expect(ids.toSorted()).toEqual(users.flatMap((user) => service.followersOf(user).map((id) => `@${user} ${id}`)).toSorted());
  // Over both runs, each request came at least a window after the one `limit` requests before it.
  const closest = front.cameAt.slice(limit).map((at, i) => at - (front.cameAt[i] ?? 0));
  expect(Math.min(...closest)).toBeGreaterThanOrEqual(1_000);
});
