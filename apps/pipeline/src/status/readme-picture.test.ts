import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { systemClock } from '@headgate/throttle';
import { expect, it } from 'vitest';
import { runSandbox } from '../commands/run-sandbox.ts';
import { FakeTerminal } from './fake-terminal.fixture.ts';

/** A row without what changes from frame to frame: numbers, bars, and the words behind its last gap. */
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

it('shows in the README what `npm start` shows', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'headgate-picture-'));
  const terminal = new FakeTerminal({ isTTY: true, columns: 100, rows: 30 });
  const stop = new AbortController();
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough().resume() };
  const context = { file: 'headgate.yaml', cwd, env: {}, ...streams, terminal, clock: systemClock(), signal: stop.signal, json: false };
  expect(await runSandbox({ follow: false }, context)).toBe(0);
  await rm(cwd, { recursive: true });
  const seen = new Set(stripVTControlCharacters(terminal.text).split('\n').map(shape));
  const readme = await readFile(join(import.meta.dirname, '../../../../README.md'), 'utf8');
  const [, picture = ''] = /shows a row for each request[^]*?```\n([^]*?)```/u.exec(readme) ?? [];
  const rows = picture.split('\n').filter((line) => line !== '');
  expect(rows.length).toBeGreaterThan(10);
  expect(rows.map(shape).filter((row) => !seen.has(row))).toEqual([]);
});
