import { access, mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { addressFlaw } from '../config/address.ts';
import { configTemplate, templateVariables } from '../config/config-template.ts';
import type { ConfigTemplateOptions } from '../config/config-template.ts';
import type { Prompt } from './terminal-prompt.ts';

export interface InitOptions {
  /** The file as the user named it. Default: headgate.yaml. */
  readonly file?: string;
  /** Base folder of a relative file. Default: the process's working folder. */
  readonly cwd?: string;
  /** Whether to overwrite an existing file. Default: false. */
  readonly force?: boolean;
  /** Asks on a terminal. Default: no questions, and both services with example addresses. */
  readonly prompt?: Prompt | undefined;
  readonly stderr: { readonly write: (text: string) => unknown };
  /** The command as the user types it. Default: `headgate`. */
  readonly command?: string;
}

const EXAMPLES = { followers: 'https://api.example.com', books: 'https://books.example.com' };

/**
 * Writes a commented headgate.yaml, without secrets. Resolves to the exit code: 0, 2 if the file already exists or can't be written, 130 if
 * the questions end early.
 */
export async function init({
  file = 'headgate.yaml',
  cwd = process.cwd(),
  force = false,
  prompt,
  stderr,
  command = 'headgate',
}: InitOptions): Promise<number> {
  const path = resolve(cwd, file);
  // Refuses before any question is asked. Without `force`, the write also refuses to overwrite a file.
  if (!force && (await exists(path))) return alreadyThere({ file, stderr, command });
  let answers: ConfigTemplateOptions;
  try {
    if (prompt !== undefined) stderr.write(`${otherApi(command)} (press Ctrl-C first)\n`);
    answers = prompt === undefined ? everything() : await ask(prompt, stderr);
  } catch {
    stderr.write('\nNothing was written.\n');
    return 130;
  }
  try {
    await makeFolder(dirname(path));
    await writeFile(path, configTemplate(answers), { flag: force ? 'w' : 'wx' });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EEXIST') return alreadyThere({ file, stderr, command });
    stderr.write(`${file} can't be written (${String(code)}). Check that the folder exists and that you may write to it.\n`);
    return 2;
  }
  stderr.write(nextSteps(file, answers, prompt !== undefined, command));
  return 0;
}

/** Creates the folder of the file. Throws `EEXIST` as `ENOTDIR`, because the caller takes `EEXIST` for an existing configuration file. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true }).catch((cause: NodeJS.ErrnoException) => {
    throw Object.assign(new Error(cause.message, { cause }), { code: cause.code === 'EEXIST' ? 'ENOTDIR' : cause.code });
  });
}

function everything(): ConfigTemplateOptions {
  return { followers: { baseUrl: EXAMPLES.followers }, books: { baseUrl: EXAMPLES.books, plan: 'default' } };
}

async function ask(prompt: Prompt, stderr: InitOptions['stderr']): Promise<ConfigTemplateOptions> {
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

function alreadyThere({ file, stderr, command }: Required<Pick<InitOptions, 'file' | 'stderr' | 'command'>>): number {
  const config = file === 'headgate.yaml' ? '' : ` --config ${file}`;
  stderr.write(`${file} is there already and was left as it is. Overwrite it with: ${command} init --force${config}\n`);
  return 2;
}

function nextSteps(file: string, answers: ConfigTemplateOptions, asked: boolean, command: string): string {
  const variables = templateVariables(answers);
  const wishes = [...(answers.followers ? ['users'] : []), ...(answers.books ? ['isbns and authors'] : [])].join(', ');
  const steps = [
    ...(asked ? [] : ['put the addresses of your services into it, or remove a service']),
    `export ${variables.join(' and ')}, or put ${variables.length > 1 ? 'them' : 'it'} into .env`,
    `fill in ${wishes}`,
    `${command} check${file === 'headgate.yaml' ? '' : ` --config ${file}`}`,
  ];
  return `${file} is written. Next:\n${steps.map((step, index) => `  ${index + 1}. ${step}\n`).join('')}${otherApi(command)}\n`;
}

function otherApi(command: string): string {
  return `For any other JSON API: ${command} init --rest URL`;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
