import { readFile } from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@headgate/throttle';
import { expect, test } from 'vitest';
import { runCommandLine } from './command-line.ts';

const PAGE = fileURLToPath(new URL('../../../docs/commands.md', import.meta.url));
const HEADING = '\n## All arguments and options\n';

test('docs/commands.md ends with the --help of every command; `vitest run command-options -u` rewrites it', async () => {
  const page = await readFile(PAGE, 'utf8');
  const [before = ''] = page.split(HEADING);
  const commands = entriesOf(await help(), 'Commands').map(({ name }) => name.split(' ')[0] ?? '');
  const sections = await Promise.all(commands.filter((name) => name !== 'help').map(sectionOf));
  const all = tableOf(entriesOf(await help(), 'Options'));
  await expect(
    `${before}${HEADING}\nEvery command takes these options, before or after its name:\n\n${all}\n${sections.join('')}`,
  ).toMatchFileSnapshot(PAGE);
});

interface Entry {
  readonly name: string;
  readonly description: string;
}

async function sectionOf(command: string): Promise<string> {
  const output = await help(command);
  const usage = /^Usage: (.*)$/m.exec(output)?.[1] ?? '';
  const entries = [...entriesOf(output, 'Arguments'), ...entriesOf(output, 'Options')].filter(({ name }) => name !== '-h, --help');
  return `\n### \`${usage}\`\n${entries.length === 0 ? '' : `\n${tableOf(entries)}\n`}`;
}

/** Reads the entries under a heading of a help text. A description can continue on indented lines. */
function entriesOf(output: string, heading: string): readonly Entry[] {
  const [, block = ''] = output.split(`\n${heading}:\n`);
  const lines =
    block
      .split('\n\n')[0]
      ?.replaceAll(/\n {4,}/g, ' ')
      .split('\n') ?? [];
  return lines.flatMap((line) => {
    const [, name, description] = /^ {2}(\S.*?)(?: {2,}(.*))?$/.exec(line) ?? [];
    return name === undefined ? [] : [{ name, description: description ?? '' }];
  });
}

function tableOf(entries: readonly Entry[]): string {
  const cell = (value: string): string => value.replaceAll('|', String.raw`\|`);
  const placeholders = (value: string): string => value.replaceAll(/<(\w+)>/g, '`<$1>`');
  return [
    '| | |',
    '|---|---|',
    ...entries.map(({ name, description }) => `| \`${cell(name)}\` | ${cell(placeholders(description))} |`),
  ].join('\n');
}

async function help(...command: readonly string[]): Promise<string> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const output = text(stdout);
  await runCommandLine([...command, '--help'], {
    cwd: '/',
    env: {},
    stdin: new PassThrough(),
    stdout,
    stderr,
    clock: async () => systemClock(),
    signal: new AbortController().signal,
  });
  stdout.end();
  return output;
}
