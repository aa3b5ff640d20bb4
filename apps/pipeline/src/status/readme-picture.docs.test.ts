import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { type VirtualClock, virtualClock } from '@headgate/throttle/testing';
import { expect, it } from 'vitest';
import { runSandbox } from '../commands/run-sandbox.ts';
import { FakeTerminal } from './fake-terminal.fixture.ts';
import { linesOfPicture, terminalPicture } from './terminal-picture.fixture.ts';

const PICTURE = join(import.meta.dirname, '../../../../docs/images/terminal.svg');

/** The part of a row that is the same in every frame: without numbers, bars and the words after the last gap. */
function shape(line: string): string {
  const [name = '', ...rest] = line.trim().split(/ {2,}/u);
  const isWhole = /^\d|^headgate/u.test(name);
  return isWhole
    ? (name
        .replace(/ /gu, ' ')
        .replace(/\d[\d,.]*/gu, '0')
        .split(' ')[0] ?? '')
    : `${name} ${rest.length > 1 ? 'and more' : ''}`;
}

it('the picture in the README shows what `npm start` shows', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'headgate-picture-'));
  const terminal = new FakeTerminal({ isTTY: true, columns: 100, rows: 30 });
  const stop = new AbortController();
  const clock = virtualClock({ epochMs: Date.now() });
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const context = { file: 'headgate.yaml', cwd, env: {}, ...streams, terminal, clock, signal: stop.signal, json: false };
  expect(await inSmallSteps(clock, runSandbox(false, false, context))).toBe(0);
  await rm(cwd, { recursive: true });
  // A user must see a wait with its reason and its end, the page's address, the forecast, whether it was right, and what to do next.
  const shown = stripVTControlCharacters(terminal.text);
  expect(shown).toMatch(/ {2}followers app .* 15 \/ 15 {2}next at \d\d:\d\d:\d\d {2}<- everything waits for this/u);
  expect(shown).toMatch(/% of 41 requests, done at \d\d:\d\d:\d\d/u);
  expect(shown).toMatch(/status at http:\/\/127\.0\.0\.1:\d+\//u);
  const said = streams.stderr.read() as Buffer;
  expect(said.toString()).toMatch(/^Forecast before the first request: \d\d:\d\d:\d\d\. Finished: \d\d:\d\d:\d\d\.\nTry next:$/mu);
  // `HEADGATE_SCREENSHOTS=1 npm test -- readme-picture` takes the picture again.
  if (process.env['HEADGATE_SCREENSHOTS'] === '1') await writeFile(PICTURE, terminalPicture(busiest(terminal)));
  const seen = new Set(shown.split('\n').map(shape));
  const rows = linesOfPicture(await readFile(PICTURE, 'utf8'));
  expect(rows.length).toBeGreaterThan(10);
  expect(rows.map(shape).filter((row) => !seen.has(row))).toEqual([]);
});

/**
 * Advances the clock by 10 ms per turn until the work ends. The machine's clock would also count the time in which a busy machine runs other
 * processes, and then a budget's window can end before its requests are sent.
 */
async function inSmallSteps<T>(clock: VirtualClock, work: Promise<T>): Promise<T> {
  let isDone = false;
  const end = (): void => {
    isDone = true;
  };
  work.then(end, end);
  while (!isDone) {
    await pause(5);
    await clock.advance(10);
  }
  return await work;
}

/** The first screen, three seconds into the run, on which one budget blocks all work. */
function busiest(terminal: FakeTerminal): readonly string[] {
  for (const count of terminal.writes.keys()) {
    const earlier = new FakeTerminal();
    earlier.writes.push(...terminal.writes.slice(0, count + 1));
    const screen = earlier.screen();
    const start = screen.findLastIndex((line) => line.startsWith('headgate run'));
    const text = screen.slice(start).join('\n').trimEnd();
    if (/00:00:03\n/u.test(text) && /followers app .*<- /u.test(text)) return text.split('\n');
  }
  throw new Error('No screen shows what a run waits for.');
}
