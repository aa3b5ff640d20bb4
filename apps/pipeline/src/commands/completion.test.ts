import { execFile, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { systemClock } from '@headgate/throttle';
import { expect, it, onTestFinished } from 'vitest';
import { runCommandLine } from '../command-line.ts';

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
  expect(await offered('run --')).toEqual([
    '--follow',
    '--fail-on-dead-letters',
    '--only',
    '--again',
    '--from-start',
    '--max-requests',
    '--sandbox',
    '--kafka',
    '--help',
    '--version',
    '--config',
    '--json',
  ]);
  expect(await offered('--config re run --fo')).toEqual(['--follow']);
  expect(await offered('read followers.ids --ta')).toEqual(['--tail']);
  expect(await offered('completion ')).toEqual(['bash', 'zsh', 'fish']);
  expect(await offered('help pl')).toEqual(['plan']);
  expect(await offered('read followers.ids --format ')).toEqual(['ndjson', 'csv', 'parquet']);
  expect(await offered('sandbox --window w')).toEqual(['wall-clock']);
  expect(await offered('sandbox --port 0 --window ro')).toEqual(['rolling']);
  expect(await offered('read followers.c')).toEqual(['followers.changes', 'followers.crawls']);
  expect(await offered('enqueue ')).toEqual(['followers', 'books']);
  expect(await offered('run --only b')).toEqual(['books']);
  // If the script offers no words, bash offers files: for values, for arguments, and after an unknown command.
  expect(await Promise.all(['--config r', 'read followers.ids --out r', 'backup r', 'completion bash b', 'nosuch r'].map(offered))).toEqual(
    Array.from({ length: 5 }, () => []),
  );
});

/** Typed lines, each with the words that are offered. `a-file` is the only file in the folder. */
const TYPED: readonly (readonly [line: string, offered: readonly string[]])[] = [
  ['re', ['read', 'replay']],
  ['--ver', ['--version']],
  [
    'run --',
    ['--config', '--fail-on-dead-letters', '--follow', '--help', '--json', '--kafka', '--max-requests', '--only', '--sandbox', '--version'],
  ],
  ['--config x.yaml ru', ['run']],
  ['--config re run --fo', ['--follow']],
  ['read --since 15m followers.ids --ta', ['--tail']],
  ['enqueue read --au', ['--author']],
  ['enqueue read --ta', []],
  ['completion ', ['bash', 'fish', 'zsh']],
  ['completion bash ', ['a-file']],
  ['read followers.ids --format ', ['csv', 'ndjson', 'parquet']],
  ['read followers.ids --out x --format c', ['csv']],
  ['sandbox --window w', ['wall-clock']],
  ['read followers.c', ['followers.changes', 'followers.crawls']],
  ['read --max 1 books.m', ['books.missing']],
  ['enqueue ', ['books', 'followers']],
  ['run --only b', ['books']],
  ['help pl', ['plan']],
  ['--config a', ['a-file']],
  ['read followers.ids --out a', ['a-file']],
  ['backup a', ['a-file']],
  ['nosuch a', ['a-file']],
];

it.for([
  ['fish', (folder: string) => ['--no-config', '-c', FISH, join(folder, 'script')]],
  ['zsh', (folder: string) => ['-f', '-c', ZSH, 'zsh', folder]],
] as const)('%s completes what is typed', { timeout: 600_000 }, async ([shell, args], { skip }) => {
  if (!isThere(shell)) return skip(`there is no ${shell}`);
  const folder = await mkdtemp(join(tmpdir(), 'headgate-completion-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'here'));
  await writeFile(join(folder, 'here/a-file'), '');
  await writeFile(join(folder, 'script'), await completion(shell));
  const lines = TYPED.map(([line]) => `headgate ${line}`);
  const { stdout } = await promisify(execFile)(shell, [...args(folder), ...lines], { cwd: join(folder, 'here') });
  const offered = stdout.split('END\n').slice(0, -1);
  expect(
    offered.map((words, i) => [TYPED[i]?.[0], [...new Set(words.trim().split(/\s+/u))].filter((word) => word !== '').toSorted()]),
  ).toEqual(TYPED);
});

const FISH = `
source $argv[1]
for line in $argv[2..-1]
  complete -C $line | string replace -r '\t.*' ''
  echo END
end`;

/** Types the lines into an interactive zsh, where Tab writes the offered words into a file. */
const ZSH = String.raw`
zmodload zsh/zpty
folder=$1; shift
until_noted() { repeat 3000; do grep -q END $folder/offers 2>/dev/null && return; zpty -r -t typed ignored 2>/dev/null; sleep 0.02; done }
cat > $folder/setup <<'SETUP'
bindkey -e
autoload -Uz compinit
compinit -u -D
source $folder/script
noted() {
  compadd() { local -a found; builtin compadd -A found "$@"; print -rl -- $found >> $folder/offers; builtin compadd "$@"; }
  _main_complete
  unfunction compadd
  print END >> $folder/offers
}
zle -C noted complete-word noted
bindkey '^I' noted
print END > $folder/offers
SETUP
zpty typed zsh -f -i
zpty -w typed "folder=$folder; source $folder/setup"
until_noted
for line; do
  : > $folder/offers
  zpty -n -w typed $'\C-u'"$line"$'\t'
  until_noted
  cat $folder/offers
done
zpty -d typed`;

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
