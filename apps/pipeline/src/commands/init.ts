import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { addressFlaw } from '../config/address.ts';
import { configTemplate, templateVariables } from '../config/config-template.ts';
import type { ConfigTemplateOptions } from '../config/config-template.ts';
import { commandsFor } from '../config/commands-for.ts';
import { DEFAULT_FILE } from '../config/default-file.ts';
import type { CommandContext } from './command-context.ts';
import type { Prompt } from './terminal-prompt.ts';

const EXAMPLES = { followers: 'https://api.example.com', books: 'https://books.example.com' };

/**
 * Writes a commented headgate.yaml, without secrets. `force`: overwrites an existing file. `prompt` asks on a terminal; without it, both
 * services are written with example addresses. Resolves to the exit code: 0, 2 if the file already exists or can't be written, 130 if the
 * questions end early.
 */
export async function init(force: boolean, prompt: Prompt | undefined, context: InitContext): Promise<number> {
  const { file, cwd, stderr } = context;
  const path = resolve(cwd, file);
  // Refuses before any question is asked. Without `force`, the write also refuses to overwrite a file.
  if (!force && existsSync(path)) return alreadyThere(context);
  let answers: ConfigTemplateOptions;
  try {
    if (prompt !== undefined) stderr.write(`${otherApi(context)} (press Ctrl-C first)\n`);
    answers = prompt === undefined ? everything() : await ask(prompt, stderr);
  } catch {
    stderr.write('\nNothing was written.\n');
    return 130;
  }
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, configTemplate(answers), { flag: force ? 'w' : 'wx' });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && existsSync(path)) return alreadyThere(context);
    stderr.write(`${file} can't be written (${code}). Check that the folder exists and that you may write to it.\n`);
    return 2;
  }
  stderr.write(nextSteps(answers, prompt !== undefined, context));
  return 0;
}

type InitContext = Pick<CommandContext, 'file' | 'cwd' | 'env' | 'stderr'>;

function everything(): ConfigTemplateOptions {
  return { followers: { baseUrl: EXAMPLES.followers }, books: { baseUrl: EXAMPLES.books, plan: 'default' } };
}

async function ask(prompt: Prompt, stderr: InitContext['stderr']): Promise<ConfigTemplateOptions> {
  const services = await untilKnown('Which services: followers, books or both? [both] ', ['both', 'followers', 'books'] as const);
  return {
    ...(services === 'books' ? {} : { followers: { baseUrl: await address('Address of the followers service', EXAMPLES.followers) } }),
    ...(services === 'followers' ? {} : { books: await books() }),
  };

  async function books(): Promise<NonNullable<ConfigTemplateOptions['books']>> {
    const plan = await untilKnown('Plan for books: default, premium or pro? [default] ', ['default', 'premium', 'pro'] as const);
    return { plan, baseUrl: await address(`Address of the books service for the plan ${plan}`, EXAMPLES.books) };
  }

  async function untilKnown<const W extends string>(question: string, words: readonly [W, ...W[]]): Promise<W> {
    for (;;) {
      const answer = (await prompt(question)).trim().toLowerCase();
      const word = answer === '' ? words[0] : words.find((known) => known === answer);
      if (word !== undefined) return word;
      stderr.write(`Write one of ${words.join(', ')}.\n`);
    }
  }

  async function address(what: string, example: string): Promise<string> {
    for (;;) {
      const url = (await prompt(`${what} [${example}] `)).trim().replace(/\/+$/, '') || example;
      const flaw = addressFlaw(url, example);
      if (flaw === undefined) return url;
      stderr.write(`The address ${flaw}\n`);
    }
  }
}

function alreadyThere(context: InitContext): number {
  const { file, stderr } = context;
  stderr.write(`${file} is there already and was left as it is. Overwrite it with: ${commandsFor(context)('init', '--force')}\n`);
  return 2;
}

function nextSteps(answers: ConfigTemplateOptions, asked: boolean, context: InitContext): string {
  const variables = templateVariables(answers);
  const wishes = [...(answers.followers ? ['users'] : []), ...(answers.books ? ['isbns and authors'] : [])].join(', ');
  const steps = [
    ...(asked ? [] : ['put the addresses of your services into it, or remove a service']),
    `export ${variables.join(' and ')}, or put ${variables.length > 1 ? 'them' : 'it'} into .env`,
    `fill in ${wishes}`,
    commandsFor(context)('check'),
  ];
  return `${context.file} is written. Next:\n${steps.map((step, index) => `  ${index + 1}. ${step}\n`).join('')}${otherApi(context)}\n`;
}

function otherApi(context: InitContext): string {
  return `For any other JSON API: ${commandsFor({ ...context, file: DEFAULT_FILE })('init', '--rest URL')}`;
}
