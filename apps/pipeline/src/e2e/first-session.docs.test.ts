import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { systemClock } from '@headgate/throttle';
import { expect, it, onTestFinished, vi } from 'vitest';
import { runCommandLine } from '../command-line.ts';
import { FakeTerminal } from '../status/fake-terminal.fixture.ts';

const PAGE = join(import.meta.dirname, '../../../../docs/start.md');
const ADDRESS = 'http://127.0.0.1:8701';
/** In the page's output, marks that the user presses Ctrl-C. */
const CTRL_C = '^C';

/** A command in the page, with the output that the page shows. */
interface Step {
  readonly line: string;
  readonly shown: string;
}

/** A running command on a terminal of 100 columns. */
interface OnTerminal {
  readonly ended: Promise<number>;
  /** The output so far, without control sequences. */
  text(): string;
  shows(words: string): Promise<void>;
  type(line: string): void;
  ctrlC(): void;
}

function onTerminal(line: string, cwd: string): OnTerminal {
  const terminal = new FakeTerminal({ isTTY: true, columns: 100, rows: 30 });
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const stop = new AbortController();
  const world = { cwd, env: {}, stdin, stdout: terminal, stderr: terminal, clock: async () => systemClock(), signal: stop.signal };
  const ended = runCommandLine(line.split(' '), world);
  const text = (): string => stripVTControlCharacters(terminal.text).replaceAll(cwd, '.');
  return {
    ended,
    text,
    shows: async (words) => void (await vi.waitUntil(() => text().includes(words), { timeout: 300_000 })),
    type: (answer) => void stdin.write(`${answer}\n`),
    ctrlC: () => stop.abort(),
  };
}

/** The part of a text that is the same in every session: without numbers, durations, bars, gaps and line breaks. */
function shape(text: string): string {
  return (
    text
      .replace(CTRL_C, '')
      .replaceAll(/[█░]+/gu, '')
      .replaceAll(/(?:\d[\d,.]* (?:ms|s|min)\b ?)+/gu, 'a while ')
      .replaceAll(/\d[\d,.:]*/gu, '0')
      .replaceAll(/\s+/gu, ' ')
      // Another process of this machine can listen on the default port.
      .replaceAll(/ \(port 0 is in use[^)]*\)/gu, '')
      .trim()
  );
}

/** Lines that the page shows, but the command doesn't. */
function invented({ shown }: Step, text: string): readonly string[] {
  const whole = shape(text);
  return shown
    .split('\n')
    .map(shape)
    .filter((line) => !whole.includes(line));
}

async function played({ line, shown }: Step, cwd: string): Promise<{ readonly code: number; readonly text: string }> {
  const command = onTerminal(line, cwd);
  if (shown.includes(CTRL_C)) {
    await command.shows('everything waits for this');
    command.ctrlC();
  }
  return { code: await command.ended, text: command.text() };
}

it('docs/start.md shows the output of its commands', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'headgate-first-session-'));
  onTestFinished(() => rm(cwd, { recursive: true }));
  const page = await readFile(PAGE, 'utf8');
  const [, config = ''] = /```yaml\n([^]*?)```/u.exec(page) ?? [];
  const steps = [...page.matchAll(/```text\n\$ headgate ([^\n]*)\n([^]*?)```/gu)].map(([, line = '', shown = '']) => ({ line, shown }));
  const [service, init, ...rest] = steps;
  if (service === undefined || init === undefined) throw new Error(`${PAGE} has no session`);

  const sandbox = onTerminal(`${service.line} --port 0`, cwd);
  onTestFinished(async () => {
    sandbox.ctrlC();
    await sandbox.ended;
  });
  await sandbox.shows('Ctrl-C to stop it');
  expect(invented(service, sandbox.text())).toEqual([]);
  const [address = ''] = /http:[^"]*/u.exec(sandbox.text()) ?? [];

  const asking = onTerminal(init.line, cwd);
  await asking.shows('Which services');
  asking.type('followers');
  await asking.shows('Address of the followers service');
  asking.type(address);
  expect(await asking.ended).toBe(0);
  expect(invented(init, asking.text())).toEqual([]);

  await writeFile(join(cwd, 'headgate.yaml'), config.replace(ADDRESS, address));
  const codes: [command: string, code: number][] = [];
  for (const step of rest) {
    const { code, text } = await played(step, cwd);
    expect(invented(step, text), `${step.line}\n${text}`).toEqual([]);
    codes.push([step.line, code]);
    // A reader creates this file when `check` asks for it.
    await writeFile(join(cwd, '.env'), 'FOLLOWERS_BEARER_TOKEN=made-up\n', { mode: 0o600 });
  }
  expect(codes).toEqual([
    ['check', 2],
    ['check', 0],
    ['plan', 0],
    ['run', 130],
    ['plan', 0],
    ['run', 0],
    ['read followers.ids --key @alpha --values --max 2', 0],
  ]);
});
