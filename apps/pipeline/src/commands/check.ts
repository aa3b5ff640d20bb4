import type { Pipeline } from '@headgate/pipeline';
import { ConfigError, ifValid } from '../config/config-error.ts';
import { openConfig } from '../config/config-file.ts';
import { formatProblems, messageColumnOf } from '../config/format-problems.ts';
import type { Problem } from '../config/problem.ts';
import type { TopicsConfig } from '../config/topics-section.ts';
import type { OpenDeadLetters } from '../status/open-dead-letters.ts';
import { escapedControls } from '../status/text/escaped-controls.ts';
import { plainOutput } from '../status/text/plain-output.ts';
import type { CommandContext } from './command-context.ts';
import { environmentProbes } from './environment-probes.ts';

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

/** The sections of a configuration that can be checked against their environment. */
export interface ValidSections {
  /** Undefined if the section has errors. */
  readonly topics: TopicsConfig | undefined;
  readonly pipelines: readonly Pipeline[];
}

/** The report of `check --json`. */
interface CheckReport {
  /** The configuration file, as the user named it. */
  readonly file: string;
  /** True if the exit code is 0. */
  readonly ok: boolean;
  /** Errors of the configuration. */
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** The probes' results. */
  readonly environment: readonly (Outcome & { readonly name: string })[];
  /** Open dead letters by pipeline and code; absent if no probe counted them. */
  readonly open_dead_letters?: OpenDeadLetters;
}

type Outcome = Required<Omit<ProbeResult, 'openDeadLetters'>>;

/**
 * Reports on the configuration and its environment. `online`: also sends one request per credential. `probesOf` returns the probes for the
 * sections without problems. Resolves to the exit code: 0, 1 if only the environment has problems, 2 if the configuration is wrong or can't
 * be read.
 */
export async function check(online: boolean, context: CommandContext, probesOf = environmentProbes): Promise<number> {
  const { json, stdout, signal } = context;
  const output = json ? stdout : plainOutput(stdout);
  const say = (text: string): void => void (json || output.write(`${text}\n`));
  const { file, problems, warnings, valid, message } = await read(context);
  const list = valid === undefined ? [] : probesOf(valid, online, context);
  const nameColumn = 2 + Math.max(0, ...list.map((probe) => probe.name.length)) + 3;
  const found = problems.length + warnings.length;
  const column = Math.max(nameColumn, found === 0 ? 0 : messageColumnOf([...problems, ...warnings]));
  say(message ?? formatProblems(file, problems, warnings, column).trimEnd());
  if (found === 0) say('  no problems in this file');
  if (online && valid !== undefined) say(spending(valid));
  if (list.length > 0) say('environment');
  const environment: CheckReport['environment'][number][] = [];
  let open_dead_letters: OpenDeadLetters | undefined;
  for (const probe of list) {
    const { openDeadLetters, ...result } = await outcome(probe, signal);
    open_dead_letters ??= openDeadLetters;
    environment.push({ name: probe.name, ...result });
    const lines = [...result.message.split('\n'), ...result.warnings.map((warning) => `warning: ${warning}`)];
    for (const [i, line] of lines.entries()) say(`${(i === 0 ? `  ${probe.name}` : '').padEnd(column)}${line}`);
  }
  const failed = environment.filter(({ ok }) => !ok).length;
  const code = problems.length > 0 ? 2 : failed > 0 ? 1 : 0;
  const report: CheckReport = {
    file,
    ok: code === 0,
    problems,
    warnings,
    environment,
    ...(open_dead_letters !== undefined && { open_dead_letters }),
  };
  if (json) output.write(`${escapedControls(JSON.stringify(report))}\n`);
  const unwise = environment.reduce((sum, one) => sum + one.warnings.length, warnings.length);
  const bad = problems.length + failed;
  if (message === undefined && bad + unwise > 0)
    say([counted(bad, 'problem'), ...(unwise > 0 ? [counted(unwise, 'warning')] : [])].join(', '));
  return code;
}

interface Reading {
  readonly file: string;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Undefined if the file has no sections that can be read. */
  readonly valid?: ValidSections;
  /** The error's message, if the error lists no problems: for example, if the file can't be read. */
  readonly message?: string;
}

async function read(context: CommandContext): Promise<Reading> {
  try {
    const config = await openConfig(context);
    const { name, problems, warnings, pipelines } = config;
    return { file: name, problems, warnings, valid: { topics: ifValid(() => config.topics()), pipelines } };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { fileName: file, problems, warnings, message } = error;
    if (problems.length > 0) return { file, problems, warnings };
    return { file, problems: [{ key: '', message }], warnings, message };
  }
}

function spending({ pipelines }: ValidSections): string {
  const spent = pipelines.flatMap(({ name, credentials, canProbe }) => {
    if (!canProbe) return [];
    return credentials?.map((credential) => `${name} credential ${credential}`) ?? [name];
  });
  return spent.length === 0
    ? '--online: there is no credential to check'
    : `--online: sends up to one request, recorded in the log, for each of: ${spent.join(', ')}`;
}

async function outcome(probe: Probe, signal: AbortSignal): Promise<Outcome & Pick<ProbeResult, 'openDeadLetters'>> {
  try {
    return { warnings: [], ...(await probe.run()) };
  } catch (error) {
    signal.throwIfAborted();
    return { ok: false, message: error instanceof Error ? error.message : 'failed for an unknown reason.', warnings: [] };
  }
}

function counted(count: number, word: string): string {
  return `${count === 0 ? 'no' : count} ${word}${count === 1 ? '' : 's'}`;
}
