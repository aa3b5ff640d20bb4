import { virtualClock } from '@headgate/throttle/testing';
import { expect, it } from 'vitest';
import type { RunView } from '../run-view.ts';
import { type StatusServer, startStatusServer } from '../status-server.ts';
import { busyView } from './busy-view.fixture.ts';
import type { PageScreen } from './page-screen.ts';

interface Answer {
  readonly version: string;
  readonly screen: PageScreen;
}

async function look({ url }: StatusServer, query = ''): Promise<Answer> {
  return (await (await fetch(`${url}screen.json${query}`)).json()) as Answer;
}

async function serve(view: () => RunView) {
  const clock = virtualClock();
  const options = {
    port: 0,
    host: '127.0.0.1',
    timeZone: 'UTC' as const,
    commandFor: (command: string, argument: string) => `headgate ${command} ${argument}`,
  };
  return { clock, server: await startStatusServer({ ...options, clock, view }) };
}

it('the screen has the jobs that the filter of its address chooses, and what to do about dead letters', async () => {
  const { clock, server } = await serve(() => busyView());
  const keys = async (query: string) => (await look(server, query)).screen.rows.map(({ key }) => key);
  const request = (i: number): string => `followers.requests-0-${i}`;
  // Working jobs come first, then failed ones, then those that are done.
  expect(await keys('')).toEqual([...[0, 1, 4, 5].map(request), 'books keys', ...[2, 3].map(request)]);
  expect(await keys('?q=BETA')).toEqual([request(1)]);
  expect(await keys('?state=failed')).toEqual([request(2)]);
  expect((await look(server, '?q=nobody')).screen.rest).toBe('No active job matches the filter.');
  expect((await look(server)).screen).toMatchObject({
    deadLetterLines: ['1 dead letter: headgate dead-letters followers', expect.stringMatching(/^followers: 3 dead letters are open/u)],
    retries: ['headgate replay followers'],
  });
  await clock.advance(2_000);
  await server.close();
});

it('an open page can look once more when the run ends; otherwise the server closes at once', async () => {
  let view = busyView();
  const open = await serve(() => view);
  await look(open.server);
  view = { ...view, outcome: 'done' };
  let isClosed = false;
  const closing = open.server.close().then(() => (isClosed = true));
  await open.clock.advance(1_000);
  expect((await look(open.server)).screen).toMatchObject({
    title: 'done, with 1 dead letter · headgate',
    state: { kind: 'done', words: 'done, with 1 dead letter' },
  });
  expect(isClosed).toBe(false);
  await open.clock.advance(200);
  await closing;

  const left = await serve(() => view);
  await look(left.server);
  await left.clock.advance(2_000);
  await left.server.close();
  expect(left.clock.pending).toBe(0);
});

it('the run is read only when a page looks', async () => {
  let looks = 0;
  const { clock, server } = await serve(() => ((looks += 1), busyView()));
  await clock.advance(60_000);
  expect([clock.pending, looks]).toEqual([0, 0]);
  await look(server);
  await clock.advance(60_000);
  expect([clock.pending, looks]).toEqual([0, 1]);
  await server.close();
});

it('names from outside are one line of text, without characters that change the writing direction', async () => {
  const about = { ...busyView().about, config: 'a\u202Eb\n\u001B[31m<b>' };
  const { clock, server } = await serve(() => busyView({ changed: { about } }));
  expect((await look(server)).screen.run[0]).toMatch(/^a\uFFFDb <b> -> /u);
  await clock.advance(2_000);
  await server.close();
});
