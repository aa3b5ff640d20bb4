import { dirname, resolve } from 'node:path';
import { booksSection } from './books-section.ts';
import { ConfigError } from './config-error.ts';
import { isPublic, readConfigText, readEnvFile } from './config-files.ts';
import type { Config } from './config.ts';
import { followersSection } from './followers-section.ts';
import { isMapping } from './leaf.ts';
import type { Tree, TreeMapping } from './leaf.ts';
import type { KeyPath, Problem } from './problem.ts';
import type { ReadContext } from './read-context.ts';
import { readTextFile } from './read-text-file.ts';
import { issueParams, unknownKeyMessage } from './schema-parts.ts';
import type { Schema } from './schema-parts.ts';
import { statusSection } from './status-section.ts';
import { topicsSection } from './topics-section.ts';
import { numberOf } from './values.ts';
import { readYamlTree } from './yaml-tree.ts';

export interface LoadConfigOptions {
  /** As the user named it; default headgate.yaml. */
  readonly file?: string;
  /** What a relative file is relative to; default the process's working folder. */
  readonly cwd?: string;
  /** The environment; it wins over `.env` beside the file. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reads a file as UTF-8 by its absolute path; default: {@link readTextFile}. */
  readonly readFile?: (path: string) => Promise<string>;
}

export interface LoadedConfig {
  readonly config: Config;
  /** What is not wrong but unwise: secrets in plain text, or where all can read them. */
  readonly warnings: readonly Problem[];
}

const SECTIONS = ['topics', 'status', 'followers', 'books'];

/**
 * Reads a headgate.yaml: paths absolute, durations in ms, sizes in bytes, defaults filled in, secrets behind functions.
 * Throws {@link ConfigError} with everything that is wrong, each with line, column and key.
 */
export async function loadConfig({
  file = 'headgate.yaml',
  cwd = process.cwd(),
  env,
  readFile = readTextFile,
}: LoadConfigOptions): Promise<LoadedConfig> {
  const path = resolve(cwd, file);
  const source = await readConfigText({ file, path, readFile });
  const envPath = resolve(dirname(path), '.env');
  const settings = { ...(await readEnvFile({ file, path: envPath, readFile })), ...definedOnly(env) };
  const isEnvPublic = await isPublic(envPath);
  const lookup = (name: string): string | undefined => (Object.hasOwn(settings, name) ? settings[name] : undefined);
  const { tree, problems: yamlProblems, problemAt } = readYamlTree({ text: source, lookup });
  if (tree === undefined && yamlProblems.length > 0) throw new ConfigError({ fileName: file, problems: yamlProblems });
  if (!isMapping(tree)) {
    const message =
      tree === undefined
        ? 'the file is empty. Write one with: headgate init --force'
        : 'must be a mapping with followers: or books: in it.';
    throw new ConfigError({ fileName: file, problems: [problemAt([], message)] });
  }

  const problems = [...yamlProblems];
  const warnings: Problem[] = [];
  const context: ReadContext = {
    lookup,
    readText: readFile,
    resolvePath: (relative) => resolve(dirname(path), relative),
    warn: (leaf, message) => void warnings.push(problemAt(leaf.path, message)),
  };
  if (isEnvPublic) {
    const message = '.env beside this file can be read by every user of this machine. Keep it for its owner alone: chmod 600 .env';
    warnings.push(problemAt([], message));
  }
  const section = async <T>(name: string, schema: Schema<T>): Promise<T | undefined> => {
    const result = await schema.safeParseAsync(tree[name] ?? {});
    for (const issue of result.error?.issues ?? []) {
      const { at, silent } = issueParams.parse((issue.code === 'custom' ? issue.params : undefined) ?? {});
      if (silent !== true) problems.push(problemAt([name, ...keyPath(issue.path)], issue.message, at));
    }
    return result.data;
  };

  const topics = await section('topics', topicsSection({ context }));
  const status = await section('status', statusSection({ context }));
  const followers = 'followers' in tree ? await section('followers', followersSection({ context })) : undefined;
  const books = 'books' in tree ? await section('books', booksSection({ context })) : undefined;
  problems.push(
    ...Object.keys(tree)
      .filter((key) => !SECTIONS.includes(key))
      .map((key) => problemAt([key], unknownKeyMessage(key, SECTIONS), 'key')),
    ...tooManyLanes(tree).map((message) => problemAt(['topics', 'lanes'], message)),
  );
  if (!('followers' in tree) && !('books' in tree))
    problems.push(problemAt([], 'there is no service. Add followers: or books:, as headgate init writes them.'));

  const sound = { ...(followers === undefined ? {} : { followers }), ...(books === undefined ? {} : { books }) };
  if (problems.length > 0 || topics === undefined || status === undefined) {
    const partial = { file: path, ...(topics === undefined ? {} : { topics }), ...(status === undefined ? {} : { status }), ...sound };
    throw new ConfigError({ fileName: file, problems: inOrder(problems), warnings: inOrder(warnings), sound: partial });
  }
  return { config: { file: path, topics, status, ...sound }, warnings: inOrder(warnings) };
}

/** A lane owns credentials, so that one without any would never ask for anything. */
function tooManyLanes(tree: TreeMapping): readonly string[] {
  const { topics, followers } = tree;
  const lanes = isMapping(topics) ? numberOf(topics['lanes']) : undefined;
  const credentials: Tree | undefined = isMapping(followers) ? followers['credentials'] : undefined;
  if (lanes === undefined || !Array.isArray(credentials) || credentials.length === 0 || lanes <= credentials.length) return [];
  const there = credentials.length === 1 ? 'there is one' : `there are ${credentials.length}`;
  return [`${lanes} lanes need as many followers credentials, and ${there}. Write ${credentials.length} or less, or add credentials.`];
}

function definedOnly(env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
}

function keyPath(path: readonly PropertyKey[]): KeyPath {
  return path.map((part) => (typeof part === 'number' ? part : String(part)));
}

function inOrder(problems: readonly Problem[]): readonly Problem[] {
  return problems.toSorted((a, b) => a.line - b.line || a.column - b.column || a.key.localeCompare(b.key));
}
