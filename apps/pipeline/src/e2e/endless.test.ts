import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { followersYaml, workplace } from './headgate-process.fixture.ts';

it('a crawl of empty pages ends at its limit, counted across a kill, and replay continues it', async () => {
  const asked: (string | null)[] = [];
  let respond = (n: number, response: ServerResponse): void => {
    // The fourth request gets no response: the process is killed while it waits.
    if (n !== 4) response.end(JSON.stringify({ ids: n === 1 ? ['7'] : [], next_cursor: 100 + n }));
  };
  const server = createServer((request, response) => {
    asked.push(new URL(request.url ?? '', 'http://localhost').searchParams.get('cursor'));
    respond(asked.length, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  await using _ = {
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  // By default, several pages can be unwritten when the process is killed, and the next run requests all of them again.
  const more = '  maxEmptyPages: 5\n  maxDelay: 0s\n  unwrittenPages: 1\n';
  await using place = await workplace(followersYaml({ url, users: ['alpha'], more }));

  const killed = place.start('run');
  await expect.poll(() => asked.length).toBe(4);
  killed.child.kill('SIGKILL');
  await killed.ended;
  const run = await place.headgate('run');
  expect(run.code).toBe(1);
  expect(run.stderr).toContain('@alpha: page 6 was empty, like the 4 pages before it');
  expect(asked).toEqual(['-1', '101', '102', '103', '103', '105', '106']);
  const [deadLetter] = await place.records('followers.dead-letters');
  expect(deadLetter?.value).toMatchObject({ request: { screenName: 'alpha' }, error: { code: 'HEADGATE_EMPTY_PAGES' } });
  expect(deadLetter?.headers).toMatchObject({ 'headgate-resume': '{"cursor":"107"}' });

  respond = (_n, response) => response.end(JSON.stringify({ ids: ['8'], next_cursor: 0 }));
  await place.headgate('replay', 'followers.dead-letters');
  expect((await place.headgate('run')).code).toBe(0);
  expect(asked.slice(7)).toEqual(['107']);
  expect((await place.records('followers.ids')).map(({ value }) => value['id'])).toEqual(['7', '8']);
});
