import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { systemClock } from '@headgate/throttle';
import { expect, it } from 'vitest';
import { runCommandLine } from '../command-line.ts';

/** What the command writes. */
async function completion(shell: string): Promise<string> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const signal = new AbortController().signal;
  const world = { cwd: tmpdir(), env: {}, stdin, stdout, stderr, clock: async () => systemClock(), signal };
  expect(await runCommandLine(['completion', shell], world)).toBe(0);
  stdout.end();
  return await text(stdout);
}

const isThere = (program: string): boolean => spawnSync(program, ['-c', 'exit 0']).status === 0;

it.skipIf(!isThere('bash'))('bash completes commands, their options and the words of an argument, and leaves values to files', async () => {
  const script = await completion('bash');
  const offered = async (line: string): Promise<string[]> => {
    const words = ['headgate', ...line.split(' ')];
    const ask = `${script}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _headgate; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await promisify(execFile)('bash', ['--norc', '-uc', ask, 'bash', ...words]);
    return stdout.split('\n').filter((word) => word !== '');
  };
  expect(await offered('re')).toEqual(['read', 'replay']);
  expect(await offered('')).toEqual(expect.arrayContaining(['init', 'run', 'sandbox', 'completion', 'help']));
  expect(await offered('--ver')).toEqual(['--version']);
  expect(await offered('run --')).toEqual(['--follow', '--sandbox', '--kafka', '--help', '--version', '--config', '--json']);
  expect(await offered('--config re run --f')).toEqual(['--follow']);
  expect(await offered('read followers.ids --ta')).toEqual(['--tail']);
  expect(await offered('completion ')).toEqual(['bash', 'zsh', 'fish']);
  expect(await offered('help pl')).toEqual(['plan']);
  // Files: of values, of arguments, and behind a word that is no command.
  expect(
    await Promise.all(['--config r', 'export followers.ids --out r', 'backup r', 'completion bash b', 'nosuch r'].map(offered)),
  ).toEqual(Array.from({ length: 5 }, () => []));
});

it.each(['bash', 'zsh', 'fish'].filter(isThere))('%s takes the script', async (shell) => {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-completion-'));
  await writeFile(join(folder, 'script'), await completion(shell));
  const { status, stderr } = spawnSync(shell, ['-n', join(folder, 'script')], { encoding: 'utf8' });
  await rm(folder, { recursive: true });
  expect([status, stderr]).toEqual([0, '']);
});

it.each([
  ['zsh', '(%)'],
  ['fish', '-a % '],
])('%s has every command and option of the one for bash, in quotes that are closed', async (shell, place) => {
  const [bash, script] = await Promise.all([completion('bash'), completion(shell)]);
  for (const [, long = ''] of bash.matchAll(/--([a-z-]+)/gu)) expect(script).toMatch(new RegExp(`(?:--|-l )${long}\\b`, 'u'));
  const commands = Array.from(bash.matchAll(/^ {8}([a-z]+)\)/gmu), ([, command = '']) => command);
  expect(commands.length).toBeGreaterThan(12);
  for (const command of commands) expect(script).toContain(place.replace('%', command));
  for (const line of script.split('\n')) expect(line.replaceAll("'\\''", '').split("'").length % 2).toBe(1);
});
