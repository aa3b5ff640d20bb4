import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '@headgate/throttle';
import { LaneHeldError } from '@headgate/topics';
import { expect, it, onTestFinished } from 'vitest';
import { SECRETS, followersYaml } from '../e2e/headgate-process.fixture.ts';
import { inProcess } from '../e2e/in-process.fixture.ts';
import type { RunEvent } from '../status/run-event.ts';
import { logWith } from './log-with.fixture.ts';
import { prepareTopics } from './topics.ts';
import { openWork } from './work.ts';

const LANE = { name: 'headgate.followers.requests.0', state: { topic: 'headgate.state', partition: 1 } };

it('is given up whole when it is closed before it was begun', async () => {
  await using place = await workPlace('http://127.0.0.1:9');
  const work = await place.open();
  await expect(place.log.openLane(LANE)).rejects.toBeInstanceOf(LaneHeldError);
  await work.close();
  await (await place.log.openLane(LANE)).close();
  expect(place.members()).toBe(0);
  await work.close();
  expect(await work.run()).toEqual([]);
});

it('is given up whole when it is closed while it waits for more, its connections too', async () => {
  const server = createServer((_, answer) => answer.end('{"ids":["1"],"next_cursor_str":"0","previous_cursor_str":"0"}'));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  const connections = (): Promise<number> => new Promise((told) => server.getConnections((_, count) => told(count)));

  await using place = await workPlace(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const work = await place.open({ follow: true });
  const run = work.run();
  await place.log.append([{ topic: 'followers.requests', key: '@a', value: '{"screenName":"a"}' }]);
  await expect.poll(() => place.events.some(({ type }) => type === 'crawl-completed')).toBe(true);
  expect(await connections()).toBe(1);
  await work.close();
  expect(await run).toEqual([]);
  await expect.poll(connections).toBe(0);
  await (await place.log.openLane(LANE)).close();
  expect(place.members()).toBe(0);
});

it('holds nothing when a lane of it can not be taken', async () => {
  await using place = await workPlace('http://127.0.0.1:9', 'books: { baseUrl: "http://127.0.0.1:9", key: "${KEY}" }\n');
  const books = await place.log.openLane({ name: 'headgate.books.requests.0', state: { topic: 'headgate.state', partition: 2 } });
  await expect(place.open()).rejects.toBeInstanceOf(LaneHeldError);
  await (await place.log.openLane(LANE)).close();
  expect(place.members()).toBe(0);
  await books.close();
});

/** A log whose group counts its members, and work on it. */
async function workPlace(url: string, more = '') {
  let members = 0;
  const place = await inProcess({
    around: (log) =>
      logWith(log, {
        async joinGroup(options) {
          const member = await log.joinGroup(options);
          members += 1;
          let isMember = true;
          return {
            leave() {
              if (isMember) members -= 1;
              isMember = false;
              return member.leave();
            },
          };
        },
      }),
  });
  const { log } = place;
  const config = await place.config(followersYaml({ url, users: [], more }));
  await prepareTopics({ log, config });
  const events: RunEvent[] = [];
  const emit = (event: RunEvent): void => void events.push(event);
  return {
    log,
    events,
    members: () => members,
    open: ({ follow = false } = {}) =>
      openWork({ config, log, follow, signal: new AbortController().signal, clock: systemClock(), env: SECRETS, emit }),
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}

it('joins with others that agree on lanes, credentials, limits and the plan of books, and with no others', async () => {
  const agreements: string[] = [];
  await using place = await inProcess({
    around: (log) =>
      logWith(log, {
        joinGroup(options) {
          agreements.push(options.agreement);
          return log.joinGroup(options);
        },
      }),
  });
  const { log } = place;
  const agreementOf = async (yaml: string): Promise<string> => {
    const config = await place.config(yaml);
    await prepareTopics({ log, config });
    const { signal } = new AbortController();
    await (await openWork({ config, log, follow: false, signal, clock: systemClock(), env: {}, emit: () => undefined })).close();
    return agreements.at(-1) ?? '';
  };
  const books = 'books: { baseUrl: "http://127.0.0.1:9", key: "${KEY}", plan: premium, perDay: { isbns: 100 } }\n';
  const yaml = followersYaml({ url: 'http://127.0.0.1:9', users: [], limit: '{ requests: 15, window: 15m }', more: books });
  const agreed = await agreementOf(yaml);
  // What each process may have of its own.
  expect(await agreementOf(yaml.replace('users: []', 'users: [a]').replace('${TOKEN}', '${TOKEN_SECRET}'))).toBe(agreed);
  const two = yaml.replace('    - { name: app', '    - { name: other, bearer: "${KEY}" }\n    - { name: app');
  const others = [
    yaml.replace('requests: 15', 'requests: 14'),
    yaml.replace('window: 15m', 'window: 14m'),
    yaml.replace('name: app', 'name: other'),
    two,
    yaml.replace('plan: premium', 'plan: pro'),
    yaml.replace('isbns: 100', 'isbns: 101'),
    yaml.replace(books, ''),
    two.replace('headgate.db }', 'headgate.db, lanes: 2 }'),
  ];
  const all = new Set([agreed]);
  for (const other of others) all.add(await agreementOf(other));
  expect(all.size).toBe(1 + others.length);
});
