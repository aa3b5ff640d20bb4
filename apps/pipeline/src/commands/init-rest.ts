import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Pipeline } from '@headgate/pipeline';
import { type GuessedStream, guessStream } from '@headgate/rest';
import { openConfig } from '../config/config-file.ts';
import { commandsFor } from '../config/commands-for.ts';
import { quoted } from '../config/problem.ts';
import { readTextFile } from '../config/read-text-file.ts';
import { flow } from '../config/json-schema.ts';
import type { ConfigOfLog } from '../run/topics.ts';
import { countWords } from '../status/text/number-words.ts';
import type { CommandContext } from './command-context.ts';
import { triedOnce } from './try.ts';
import { UsageError } from './usage-error.ts';

export interface InitRestOptions {
  /** Address of a list, with its query. */
  readonly rest: string;
  /** Name of the section. Default: from the host. */
  readonly name?: string;
  /** Name of the environment variable that has a bearer token. */
  readonly bearer?: string;
  /** Name of the environment variable that has a key, sent as `Authorization`, or where `header` or `query` says. */
  readonly key?: string;
  readonly header?: string;
  readonly query?: string;
}

/**
 * Sends one request to an API, and adds a section with `use: rest` to the configuration, with what the response suggests. Creates the
 * configuration if there is none. The request is recorded in the log, so the next run counts it. Resolves to the exit code: 1 if there is no
 * response that tells anything.
 */
export async function initRest(options: InitRestOptions, context: CommandContext): Promise<number> {
  const { file, cwd, stderr, signal } = context;
  const path = resolve(cwd, file);
  const target = targetOf(options);
  const before = await readTextFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new UsageError(`init: ${quoted(file)} can't be read (${error.code}). Check that it is a file, and that you may read it.`);
  });
  assertOtherLimit(before, options, context);
  if (before !== undefined && new RegExp(`^["']?${target.name}["']?[ \t]*:`, 'm').test(before))
    throw new UsageError(`init: ${file} has a section ${target.name} already. Choose another name: --name NAME.`);
  const start = before === undefined ? HEAD : before.endsWith('\n') ? '\n' : '\n\n';
  const added = (guessed?: GuessedStream): string => `${start}${sectionLines(target, guessed).join('\n')}\n`;

  const { pipeline, config } = await read(`${before ?? ''}${added()}`, path, target, context);
  const tried = await triedOnce(pipeline, JSON.stringify({ stream: target.stream }), config, context);
  signal.throwIfAborted();
  if (typeof tried === 'string') {
    stderr.write(`headgate: ${tried}\n${credentialHint(options, tried)}No configuration was written.\n`);
    return 1;
  }
  const guessed = guessStream(tried.answer, target.query);
  await read(`${before ?? ''}${added(guessed)}`, path, target, context);
  await mkdir(dirname(path), { recursive: true });
  if (before === undefined) await writeFile(path, added(guessed), { flag: 'wx' });
  else await appendFile(path, added(guessed));
  const commandFor = commandsFor(context);
  const what = guessed.records === undefined && guessed.count === 1 ? 'one record' : countWords(guessed.count, 'record');
  stderr.write(
    [
      `${file}: added the section ${target.name}, from one response with ${what}. Next:`,
      '  1. Check the lines with "guess" against the documentation of the service, above all limit.',
      `  2. ${commandFor('try', `${target.name}.${target.stream}`)}`,
      `  3. ${commandFor('run')}`,
      '',
    ].join('\n'),
  );
  return 0;
}

/** Reads the configuration as it would be with this text. Errors of other sections are left to `check`. */
async function read(
  text: string,
  path: string,
  { name }: Target,
  context: CommandContext,
): Promise<{ readonly pipeline: Pipeline; readonly config: ConfigOfLog }> {
  const readFile = async (of: string): Promise<string> => (of === path ? text : await readTextFile(of));
  const opened = await openConfig({ ...context, readFile });
  const pipeline = opened.pipeline(name);
  if (pipeline === undefined) throw new TypeError('the section is missing');
  return { pipeline, config: { topics: opened.topics(), pipelines: [pipeline] } };
}

/** Throws if the file has a section for the service with the same credential. Two sections would use the limit of the service twice. */
function assertOtherLimit(before = '', { rest: address, bearer, key }: InitRestOptions, { file }: Pick<CommandContext, 'file'>): void {
  const { origin, pathname } = new URL(address);
  const isThere = before.split('\n').some((line) => {
    const [, found = ''] = /^[^#]*\bbaseUrl:\s*["']?([^"'\s,}]+)/.exec(line) ?? [];
    return URL.parse(found)?.origin === origin;
  });
  const variable = bearer ?? key;
  if (!isThere || (variable !== undefined && !before.includes(`\${${variable}}`))) return;
  throw new UsageError(
    `init: ${file} has a section for ${origin} already, and a second one would use its limit twice. Copy a stream of that section, and set its get to the part of ${pathname} that follows its baseUrl. For another account, name the variable of its credential.`,
  );
}

interface Target {
  readonly name: string;
  readonly stream: string;
  readonly baseUrl: string;
  readonly get: string;
  readonly query: Readonly<Record<string, string | readonly string[]>>;
  readonly credential: Readonly<Record<string, string>>;
}

const SECRET =
  /^(?:api[-_]?key|key|(?:access|auth|api)[-_]?token|token|app[-_]?(?:id|key)|secret|client[-_]?secret|sig|signature|password)$/i;

function targetOf({ rest: address, name, bearer, key, header, query: parameter }: InitRestOptions): Target {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError('init: --rest needs an address. Write, for example, --rest https://api.example.com/v1/items.');
  if (url.username !== '' || url.password !== '')
    throw new UsageError('init: the address has a user or a password. Leave them out, and write them into credentials later, as basic.');
  if (bearer !== undefined && key !== undefined) throw new UsageError('init: --bearer and --key are two credentials. Keep one of them.');
  if (key === undefined && (header ?? parameter) !== undefined)
    throw new UsageError('init: --header and --query say where a key goes. Add --key VARIABLE.');
  if (header !== undefined && parameter !== undefined) throw new UsageError('init: --header and --query are two places. Keep one of them.');
  for (const variable of [bearer, key])
    if (variable !== undefined && !/^[A-Za-z_]\w*$/.test(variable))
      throw new UsageError(
        'init: --bearer and --key take the name of an environment variable, such as API_TOKEN, and never the secret itself.',
      );
  const secret = [...url.searchParams.keys()].find((one) => SECRET.test(one));
  if (secret !== undefined)
    throw new UsageError(
      `init: the address has ${secret}, which looks like a secret. Leave it out, put its value into an environment variable, and add: --key VARIABLE --query ${secret}`,
    );
  const segments = url.pathname.split('/').filter((one) => one !== '');
  const count = segments.findIndex((one, i) => i === segments.length - 1 || !/^(?:api|rest|public|v\d+(?:\.\d+)*)$/i.test(one));
  const base = segments.slice(0, Math.max(0, count));
  const get = `/${segments.slice(base.length).join('/')}`;
  const names = [...new Set(url.searchParams.keys())];
  return {
    name: sectionName(name, url),
    stream: streamName(segments),
    baseUrl: [url.origin, ...base].join('/'),
    get: inTemplate(get),
    query: Object.fromEntries(
      names.map((one) => {
        const values = url.searchParams.getAll(one).map(inTemplate);
        return [one, values.length === 1 ? (values[0] ?? '') : values];
      }),
    ),
    credential:
      bearer !== undefined
        ? { name: 'app', bearer: `\${${bearer}}` }
        : key === undefined
          ? { name: 'anyone' }
          : {
              name: 'app',
              key: `\${${key}}`,
              ...(header !== undefined && { header }),
              ...(parameter !== undefined && { query: parameter }),
            },
  };
}

/** Doubles braces, because a single one begins a field. */
function inTemplate(text: string): string {
  return text.replaceAll(/[{}]/g, '$&$&');
}

function sectionName(given: string | undefined, { hostname }: URL): string {
  if (given !== undefined) {
    if (/^(?!(?:headgate|topics|status|followers|books)$)[a-z][a-z0-9-]{0,49}$/.test(given)) return given;
    throw new UsageError(
      `init: --name ${quoted(given)} isn't a section name. Write lowercase letters, digits and hyphens, starting with a letter.`,
    );
  }
  const labels = /^[\d.]+$|[[:]/.test(hostname) ? [] : hostname.split('.').slice(0, -1);
  const own = labels.filter((one) => !/^(?:www|api|rest|co|com|org|net|gov|ac|v\d+)$/.test(one)).at(-1) ?? '';
  const name = own
    .replaceAll(/[^a-z0-9-]/g, '')
    .replace(/^[^a-z]+/, '')
    .slice(0, 50);
  return /^(?:|headgate|topics|status|followers|books)$/.test(name) ? 'api' : name;
}

/** The last part of the path that is a word. */
function streamName(segments: readonly string[]): string {
  const words = segments.map((one) => one.replace(/\.\w+$/, '').replaceAll(/%..|[^\w-]/g, ''));
  const name = words.findLast((one) => /^[A-Za-z][\w-]{0,49}$/.test(one) && !/^v\d+$|\d{3}/.test(one)) ?? 'records';
  return /^(?:requests|dead-letters|state|walks)$/.test(name) ? `${name}-list` : name;
}

const HEAD = `# Configuration of Headgate. To check it, run: headgate check
# "\${NAME}" is replaced by an environment variable, or by a line NAME=value of the file .env next to this one.
# All settings: https://github.com/headgate/headgate/blob/main/docs/configuration.md
topics: { driver: sqlite, file: ./headgate.db }

`;

/** Column at which comments start, if there is space. */
const COLUMN = 48;

function sectionLines({ name, stream, baseUrl, get, query, credential }: Target, guessed?: GuessedStream): string[] {
  const { records, key, pages, paged = [] } = guessed ?? {};
  const own = Object.entries(query).filter(([one]) => !paged.includes(one));
  const line = (indent: number, setting: string, comment?: string): string => {
    const text = `${' '.repeat(indent)}${setting}`;
    return comment === undefined ? text : `${text.padEnd(COLUMN - 1)} # ${comment}`;
  };
  return [
    `${name}:`,
    line(2, 'use: rest'),
    line(2, `baseUrl: ${yaml(baseUrl)}`),
    line(2, `credentials: [${flow(credential)}]`),
    line(2, 'limit: { requests: 1, window: 1s }', "guess: a slow one. Write the service's limit, such as { requests: 5000, window: 1h }"),
    line(2, 'streams:'),
    line(4, `${stream}:`),
    line(6, `get: ${yaml(get)}`),
    ...(own.length === 0 ? [] : [line(6, `query: ${yaml(Object.fromEntries(own))}`)]),
    ...(records === undefined ? [] : [line(6, `records: ${yaml(records.value)}`, `guess: ${records.why}`)]),
    ...(key === undefined
      ? [line(6, '# key: $.id', 'guess: no member differs in all records. Without a key, records have the key of their job')]
      : [line(6, `key: ${yaml(key.value)}`, `guess: ${key.why}`)]),
    ...(pages === undefined
      ? [line(6, '# pages: { page: { query: page } }', 'guess: one page. The response shows no sign of more')]
      : [line(6, `pages: ${yaml(pages.value)}`, `guess: ${pages.why}`)]),
  ];
}

/** The value in YAML. `$${` is a literal `${`, which would otherwise start a variable. A plain path needs no quotes. */
function yaml(value: unknown): string {
  return flow(value)
    .replaceAll('${', () => '$${')
    .replaceAll(/"(\$(?:\.[A-Za-z_]\w*)+)"/g, '$1');
}

function credentialHint({ bearer, key }: InitRestOptions, reason: string): string {
  if (bearer !== undefined || key !== undefined || !/\b40[13]\b/.test(reason)) return '';
  return 'If the service needs a credential, name its environment variable: --bearer VARIABLE, or --key VARIABLE --header NAME.\n';
}
