import { ConfigError, type SoundConfig } from '../config/config-error.ts';
import { defaultConfigFile } from '../config/default-config-file.ts';
import { formatProblems, messageColumnOf } from '../config/format-problems.ts';
import { loadConfig } from '../config/load-config.ts';
import type { LoadConfigOptions } from '../config/load-config.ts';
import type { Problem } from '../config/problem.ts';

/** Something outside the file that a run will need. It has a time limit of its own. */
export interface Probe {
  /** What is looked at: `kafka 127.0.0.1:9092`. */
  readonly name: string;
  /** Rejecting counts as not ok, with the error's message. */
  readonly run: () => Promise<ProbeResult>;
}

/** How it stands with what was looked at. */
export interface ProbeResult {
  readonly ok: boolean;
  /** What was found and, if it is not ok, what to do. */
  readonly message: string;
  /** What is not wrong but unwise. Default none. */
  readonly warnings?: readonly string[];
}

export interface CheckOptions extends LoadConfigOptions {
  /** Whether requests may be spent, which is then said; default false. */
  readonly online?: boolean;
  /** What to look at, from the sections of the configuration that have no problems. */
  readonly probes: (sound: SoundConfig) => readonly Probe[];
  readonly stderr: { readonly write: (text: string) => unknown };
}

/** Reports on the configuration and what it needs, to stderr. Resolves to the exit code: 0, 2 for a wrong configuration, 1 where only the environment fails. */
export async function check({ online = false, probes, stderr, ...load }: CheckOptions): Promise<number> {
  const { fileName, problems, warnings, sound, message } = await read(load);
  if (message !== undefined) {
    stderr.write(`${message}\n`);
    return 2;
  }
  const list = probes(sound);
  const nameColumn = 2 + Math.max(0, ...list.map((probe) => probe.name.length)) + 3;
  const messageColumn = Math.max(nameColumn, problems.length + warnings.length === 0 ? 0 : messageColumnOf([...problems, ...warnings]));
  stderr.write(formatProblems({ fileName, problems, warnings, messageColumn }));
  if (problems.length + warnings.length === 0) stderr.write('  no problems in this file\n');
  if (online) stderr.write(`${spending(sound)}\n`);
  if (list.length > 0) stderr.write('environment\n');
  let failed = 0;
  let unwise = warnings.length;
  for (const probe of list) {
    const { ok, message: found, warnings: more = [] } = await outcome(probe);
    if (!ok) failed += 1;
    unwise += more.length;
    const lines = [...found.split('\n'), ...more.map((warning) => `warning: ${warning}`)];
    for (const [i, line] of lines.entries()) stderr.write(`${(i === 0 ? `  ${probe.name}` : '').padEnd(messageColumn)}${line}\n`);
  }
  const found = problems.length + failed;
  if (found + unwise > 0) stderr.write(`${[counted(found, 'problem'), ...(unwise > 0 ? [counted(unwise, 'warning')] : [])].join(', ')}\n`);
  if (problems.length > 0) return 2;
  return failed > 0 ? 1 : 0;
}

interface Reading {
  readonly fileName: string;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  readonly sound: SoundConfig;
  /** Why there is nothing to report on. */
  readonly message?: string;
}

async function read(load: LoadConfigOptions): Promise<Reading> {
  try {
    const { config, warnings } = await loadConfig(load);
    return { fileName: load.file ?? defaultConfigFile(load.cwd ?? process.cwd()), problems: [], warnings, sound: config };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { fileName, problems, warnings, sound, message } = error;
    return { fileName, problems, warnings, sound, ...(problems.length === 0 ? { message } : {}) };
  }
}

function spending({ pipelines = [] }: SoundConfig): string {
  const spent = pipelines.flatMap(({ name, credentials, canProbe }) => {
    if (!canProbe) return [];
    return credentials?.map((credential) => `${name} credential ${credential}`) ?? [name];
  });
  return spent.length === 0
    ? '--online: no credential can be tried'
    : `--online: one request is spent, and noted in the log, for each of: ${spent.join(', ')}`;
}

async function outcome(probe: Probe): Promise<ProbeResult> {
  try {
    return await probe.run();
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : 'failed for an unknown reason.' };
  }
}

function counted(count: number, word: string): string {
  return `${count === 0 ? 'no' : count} ${word}${count === 1 ? '' : 's'}`;
}
