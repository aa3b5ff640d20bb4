import { ConfigError, type ValidSections } from '../config/config-error.ts';
import { DEFAULT_FILE } from '../config/config-files.ts';
import { formatProblems, messageColumnOf } from '../config/format-problems.ts';
import { loadConfig } from '../config/load-config.ts';
import type { LoadConfigOptions } from '../config/load-config.ts';
import type { Problem } from '../config/problem.ts';
import type { OpenDeadLetters } from '../status/open-dead-letters.ts';
import { escapedControls } from '../status/text/escaped-controls.ts';

/** A check of something outside the configuration file that a run needs. */
export interface Probe {
  /** Subject of the check, such as `kafka 127.0.0.1:9092`. */
  readonly name: string;
  /** Runs the check. A rejection is reported as `ok: false`. */
  readonly run: () => Promise<ProbeResult>;
}

export interface ProbeResult {
  readonly ok: boolean;
  /** The result in words, on one or more lines. */
  readonly message: string;
  /** Warnings about settings that work but are unwise. Default: none. */
  readonly warnings?: readonly string[];
  /** Open dead letters by pipeline and code. Only the log's probe counts them. */
  readonly openDeadLetters?: OpenDeadLetters;
}

export interface CheckOptions extends LoadConfigOptions {
  /** Whether the text report notes that the probes send requests to the services. Default: false. */
  readonly online?: boolean;
  /** Returns the probes for the sections of the configuration that have no problems. */
  readonly probes: (valid: ValidSections) => readonly Probe[];
  readonly output: { readonly write: (text: string) => unknown };
  /** Writes the report as one line of JSON. Default: false. */
  readonly json?: boolean;
  /** Ends the checks when it aborts. `check` then throws its reason. Default: never. */
  readonly signal?: AbortSignal;
}

/** The report of `check --json`. */
interface CheckReport {
  /** The configuration file, as the user named it. */
  readonly file: string;
  /** True if the exit code is 0. */
  readonly ok: boolean;
  /** Errors of the configuration. */
  readonly problems: readonly PlainProblem[];
  readonly warnings: readonly PlainProblem[];
  /** The probes' results. */
  readonly environment: readonly (Outcome & { readonly name: string })[];
  /** Open dead letters by pipeline and code; absent if no probe counted them. */
  readonly open_dead_letters?: OpenDeadLetters;
}

type Outcome = Required<Omit<ProbeResult, 'openDeadLetters'>>;

type PlainProblem = Pick<Problem, 'line' | 'column' | 'key' | 'message'>;

/**
 * Reports on the configuration and its environment. Resolves to the exit code: 0, 1 if only the environment has problems, 2 if the
 * configuration is wrong or can't be read.
 */
export async function check({ online = false, probes, output, json = false, signal, ...load }: CheckOptions): Promise<number> {
  const reading = await read(load);
  const list = reading.message === undefined ? probes(reading.valid) : [];
  return json ? await checkJson(reading, list, { output, signal }) : await checkText(reading, list, { output, online, signal });
}

async function checkText(
  { fileName, problems, warnings, valid, message }: Reading,
  list: readonly Probe[],
  { output, online, signal }: Pick<CheckOptions, 'output' | 'online'> & { readonly signal: AbortSignal | undefined },
): Promise<number> {
  if (message !== undefined) {
    output.write(`${message}\n`);
    return 2;
  }
  const nameColumn = 2 + Math.max(0, ...list.map((probe) => probe.name.length)) + 3;
  const messageColumn = Math.max(nameColumn, problems.length + warnings.length === 0 ? 0 : messageColumnOf([...problems, ...warnings]));
  output.write(formatProblems({ fileName, problems, warnings, messageColumn }));
  if (problems.length + warnings.length === 0) output.write('  no problems in this file\n');
  if (online) output.write(`${spending(valid)}\n`);
  if (list.length > 0) output.write('environment\n');
  let failed = 0;
  let unwise = warnings.length;
  for (const probe of list) {
    const { ok, message: found, warnings: more } = await outcome(probe, signal);
    if (!ok) failed += 1;
    unwise += more.length;
    const lines = [...found.split('\n'), ...more.map((warning) => `warning: ${warning}`)];
    for (const [i, line] of lines.entries()) output.write(`${(i === 0 ? `  ${probe.name}` : '').padEnd(messageColumn)}${line}\n`);
  }
  const found = problems.length + failed;
  if (found + unwise > 0) output.write(`${[counted(found, 'problem'), ...(unwise > 0 ? [counted(unwise, 'warning')] : [])].join(', ')}\n`);
  return exitCode(problems.length, failed);
}

async function checkJson(
  { fileName, problems, warnings, message }: Reading,
  probes: readonly Probe[],
  { output, signal }: Pick<CheckOptions, 'output'> & { readonly signal: AbortSignal | undefined },
): Promise<number> {
  const environment: CheckReport['environment'][number][] = [];
  let open: OpenDeadLetters | undefined;
  for (const probe of probes) {
    const { openDeadLetters, ...found } = await outcome(probe, signal);
    open ??= openDeadLetters;
    environment.push({ name: probe.name, ...found });
  }
  const all = message === undefined ? problems : [{ key: '', message }];
  const code = exitCode(all.length, environment.filter(({ ok }) => !ok).length);
  const report: CheckReport = {
    file: fileName,
    ok: code === 0,
    problems: all.map(plain),
    warnings: warnings.map(plain),
    environment,
    ...(open !== undefined && { open_dead_letters: open }),
  };
  output.write(`${escapedControls(JSON.stringify(report))}\n`);
  return code;
}

function plain({ line, column, key, message }: Problem): PlainProblem {
  return { ...(line !== undefined && { line, column: column ?? 1 }), key, message };
}

function exitCode(problems: number, failed: number): number {
  if (problems > 0) return 2;
  return failed > 0 ? 1 : 0;
}

interface Reading {
  readonly fileName: string;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  readonly valid: ValidSections;
  /** The error's message, if the error lists no problems: for example, if the file can't be read. */
  readonly message?: string;
}

async function read(load: LoadConfigOptions): Promise<Reading> {
  try {
    const { config, warnings } = await loadConfig(load);
    return { fileName: load.file ?? DEFAULT_FILE, problems: [], warnings, valid: config };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { fileName, problems, warnings, valid, message } = error;
    return { fileName, problems, warnings, valid, ...(problems.length === 0 ? { message } : {}) };
  }
}

function spending({ pipelines = [] }: ValidSections): string {
  const spent = pipelines.flatMap(({ name, credentials, canProbe }) => {
    if (!canProbe) return [];
    return credentials?.map((credential) => `${name} credential ${credential}`) ?? [name];
  });
  return spent.length === 0
    ? '--online: there is no credential to check'
    : `--online: sends up to one request, recorded in the log, for each of: ${spent.join(', ')}`;
}

async function outcome(probe: Probe, signal: AbortSignal | undefined): Promise<Outcome & Pick<ProbeResult, 'openDeadLetters'>> {
  try {
    return { warnings: [], ...(await probe.run()) };
  } catch (error) {
    signal?.throwIfAborted();
    return { ok: false, message: error instanceof Error ? error.message : 'failed for an unknown reason.', warnings: [] };
  }
}

function counted(count: number, word: string): string {
  return `${count === 0 ? 'no' : count} ${word}${count === 1 ? '' : 's'}`;
}
