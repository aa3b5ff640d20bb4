import { startFollowers } from '@headgate/sandbox';
import { expect, it } from 'vitest';
import { virtualClock } from '@headgate/throttle/testing';
import { followers } from '../pipelines/followers.ts';
import { logLines } from './format-outage.ts';
import { runViewer } from './run-view.ts';
import { type Place, type ShownRun, place } from './shown-run.fixture.ts';

const SECONDS_FROM_NOW = 3_000;

/** A run that has noticed that another process has locked its log. */
async function lockedOut(here: Place, url: string): Promise<{ readonly run: ShownRun; readonly unlock: () => void }> {
  const credentials = [{ name: 'app', bearer: 'a-token' }];
  const limit = { requests: 2, window: '15m' };
  const users = [{ screenName: 'alpha' }];
  const run = await here.run([followers({ baseUrl: url, credentials, users, limit, count: 10 })]);
  await run.shows(/@alpha +2 pages +20 ids +waits for budget/u);
  const unlock = here.lockFile();
  await here.clock.advance(900_456);
  await run.shows(/the topic log can't be written since 10:15:00/u);
  await here.clock.advance(SECONDS_FROM_NOW);
  return { run, unlock };
}

const service = async () =>
  await startFollowers({ window: { kind: 'rolling', limit: 100_000, windowMs: 1 }, users: { alpha: { followers: 30 } } });

it('each display reports once that the log is locked, for how long, and that it is back', async () => {
  await using api = await service();
  await using here = await place();
  const { run, unlock } = await lockedOut(here, api.url);
  const wide = run.frame({ columns: 500 }).join('\n');
  expect(wide).toMatch(
    /^ {2}the topic log can't be written since 10:15:00, for 3 s: nothing is lost; continues automatically \(\S*headgate\.db is locked by another process\)$/mu,
  );
  expect(wide).toMatch(/@alpha +2 pages +20 ids +writing$/mu);
  const narrow = run.frame({ columns: 70 });
  expect(narrow.filter((line) => line.includes('since 10:15:00'))).toHaveLength(1);
  expect(narrow.join(' ').replaceAll(/ +/gu, ' ')).toContain(
    "can't be written since 10:15:00, for 3 s: nothing is lost; continues automatically (",
  );
  expect(run.frame({ columns: 50, rows: 6 }).at(-1)).toMatch(/^ {2}the topic log can't be written since 10:15:00.*…$/u);
  unlock();
  expect((await run.finish()).outcome).toBe('done');
  const told = run.plain.lines.filter((line) => line.includes('the topic log'));
  expect(told).toEqual([
    expect.stringMatching(
      /^10:15:00 the topic log can't be written \(.*locked by another process.*\): nothing is lost; continues automatically$/u,
    ),
    expect.stringMatching(/^10:15:03 the topic log can be written again after 3 s$/u),
  ]);
  const events = run.json.lines.map((line) => JSON.parse(line) as { readonly event: string });
  expect(events.filter(({ event }) => event.startsWith('log-'))).toMatchObject([
    { level: 'warn', event: 'log-unavailable', driver: 'sqlite', reason: expect.stringContaining('locked') as string },
    { level: 'info', event: 'log-available', driver: 'sqlite', msg: 'the topic log can be written again' },
  ]);
});

it('the terminal and the plain lines report that a stop waits for an unreachable log, and the summary that it wasn’t reached', async () => {
  await using api = await service();
  await using here = await place();
  const { run, unlock } = await lockedOut(here, api.url);
  run.stop();
  expect(run.frame({ columns: 500 }).join('\n')).toMatch(/^ {2}stopping: waiting for 1 write and the log, at most 10 s; /mu);
  expect(run.frame()).toContain('  2 requests done');
  expect(run.summary()).toMatch(/^Log not written: +for the last 3 s \(.*locked.*\): data that isn't in it yet is requested again.$/mu);
  await here.clock.advance(4_000);
  expect(run.plain.lines.at(-1)).toMatch(/^10:15:0\d stopping: waiting for (?:1 write and )?the log, at most 10 s; /u);
  unlock();
  expect((await run.finish()).outcome).toBe('stopped');
});

it('the duration of an outage is right even if the clock was set back', async () => {
  const clock = virtualClock();
  const line = logLines({ clock });
  const viewer = runViewer(clock, new AbortController().signal, {} as never);
  const since = clock.epochMs() - 1_000;
  const event = { type: 'log-unavailable', driver: 'sqlite', reason: 'it is locked', since } as const;
  line(event);
  viewer.apply(event);
  clock.stepEpoch(-3_600_000);
  await clock.advance(4_000);
  const view = viewer.view();
  expect(view.logUnavailable?.since).toBe(since - 3_600_000);
  expect(view.startedAt).toBe(since + 1_000 - 3_600_000);
  expect(line({ type: 'log-available', driver: 'sqlite' })).toBe('the topic log can be written again after 5 s');
});
