import { access, mkdtemp, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Pipeline, topicNames } from '@headgate/pipeline';
import { assertStatesKept, findOtherGroups, growthWords, lanesOf } from '@headgate/pipeline/internal';
import { creditPool } from '@headgate/throttle';
import { unwrittenJournal } from '@headgate/throttle/internal';
import { MissingRightError, type TopicLog, rightsWords } from '@headgate/topics';
import { commandsFor } from '../config/commands-for.ts';
import { withStateAdvice } from '../run/state-lost.ts';
import { logExists, logAddress, openRegistry } from '../run/open-topic-log.ts';
import { type ConfigOfLog, prepareTopics } from '../run/topics.ts';
import { formatKey } from '../config/problem.ts';
import type { Probe, ProbeResult, ValidSections } from './check.ts';
import { onlineProbes } from './online-probes.ts';
import { ANSWER_WITHIN_MS, withLog } from './with-log.ts';
import { countOpenOf, openDeadLetterLines } from '../status/open-dead-letters.ts';
import type { CommandContext } from './command-context.ts';

const GIVE_RIGHTS = 'Grant these on the brokers (kafka-acls.sh --add). A run waits until it has them.';

/** Returns probes of what a run needs from its environment. Services are probed only with `online`, and only if every pipeline is usable. */
export function environmentProbes(valid: ValidSections, online: boolean, context: CommandContext): Probe[] {
  const probes: Probe[] = [];
  let isLogUsable = false;
  const { topics, pipelines } = valid;
  if (topics !== undefined) {
    const name = topics.driver === 'sqlite' ? `log ${topics.file}` : logAddress(topics);
    const run = async (): Promise<ProbeResult> => {
      const result = await probeLog({ topics, pipelines }, context);
      isLogUsable = result.ok;
      return result;
    };
    probes.push({ name, run });
    if (topics.driver === 'kafka' && topics.registry !== undefined)
      probes.push({ name: `registry ${topics.registry.url}`, run: () => probeRegistry({ topics, pipelines }, context) });
  }
  const unusable = [
    ...pipelines.flatMap((pipeline) => secretProbes(pipeline)),
    ...pipelines.flatMap((pipeline) => failedProbe(pipeline, topics?.lanes ?? 1, context)),
  ];
  if (!online || unusable.length > 0) return [...probes, ...unusable];
  return [...probes, ...onlineProbes(valid, context, () => isLogUsable)];
}

/** A failed probe for each secret that can't be used, for example because its file is missing. */
function secretProbes(pipeline: Pipeline): Probe[] {
  return pipeline.secretIssues().map(({ path, message }) => ({
    name: formatKey([pipeline.name, ...path]),
    run: () => Promise.resolve({ ok: false, message }),
  }));
}

/**
 * A probe that fails with the reason why a pipeline's source can't be opened, such as an invalid proxy address. Returns an empty list if
 * it can be opened.
 */
function failedProbe(pipeline: Pipeline, lanes: number, { clock, env, signal }: CommandContext): Probe[] {
  const credits = creditPool({ max: pipeline.maxOutstanding });
  try {
    // Opens the pipeline as a single lane with all credentials, and then as the first lane of a run.
    for (const count of new Set([1, lanesOf(pipeline, lanes)])) {
      // Each lane has its own journal, of which a source keeps its entries until it is closed.
      const io = { clock, env, signal, credits, journal: unwrittenJournal(), onAttempt: () => undefined };
      for (const source of pipeline.open(io, { lane: 0, lanes: count }).sources) void source.close();
    }
    return [];
  } catch (error) {
    return [{ name: pipeline.name, run: () => Promise.reject(error) }];
  }
}

async function probeLog(config: ConfigOfLog, context: CommandContext): Promise<ProbeResult> {
  const { topics } = config;
  const probeOpenLog = (): Promise<ProbeResult> =>
    withLog({ topics, clock: context.clock }, (log, within) => within(ANSWER_WITHIN_MS, checkOpenLog(log, config, context)));
  if (topics.driver !== 'sqlite') return await probeOpenLog();
  return (await logExists(topics)) ? await probeOpenLog() : await probeFolder(await nearestFolder(dirname(topics.file)));
}

/** Checks whether the registry has, or would take, the schemas of all topics with a format. */
async function probeRegistry({ topics, pipelines }: ConfigOfLog, { signal }: CommandContext): Promise<ProbeResult> {
  const registry = await openRegistry(topics);
  const { codecsOf } = await import('@headgate/registry');
  const names = topicNames(topics);
  const codecs = pipelines.flatMap((pipeline) =>
    Array.from(codecsOf(pipeline), ([topic, codec]) => ({ topic: names(`${pipeline.name}.${topic}`), codec })),
  );
  for (const { topic, codec } of codecs) await registry?.check(topic, codec, signal);
  return { ok: true, message: codecs.length === 0 ? 'not used: no section has a format' : `takes ${codecs.length} schemas` };
}

/** Creates and removes a temporary folder, because permissions alone don't show whether a file can be created. */
async function probeFolder(folder: string): Promise<ProbeResult> {
  try {
    await rmdir(await mkdtemp(join(folder, '.headgate-check-')));
    return { ok: true, message: 'will be created' };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return {
      ok: false,
      message: `can't be created: ${folder} isn't writable (${code}). Name a file in a folder that you can write to.`,
    };
  }
}

async function checkOpenLog(log: TopicLog, config: ConfigOfLog, context: CommandContext): Promise<ProbeResult> {
  const { topics } = config;
  const found = topics.driver === 'sqlite' ? 'can be read and written' : 'answers';
  const made = await prepareTopics(log, config, true).catch((error: unknown) => {
    if (!(error instanceof MissingRightError)) throw error;
    return error;
  });
  if (made instanceof MissingRightError) {
    const lines = rightsWords(made.rights).map((right) => `  ${right}`);
    return { ok: false, message: [`${found}, but this user lacks these permissions:`, ...lines, GIVE_RIGHTS].join('\n') };
  }
  const warnings = [...made.warnings];
  const { group, lanes } = topics;
  const { pipelines } = config;
  const target = { log, group, pipelines, names: topicNames(topics), missing: made.created };
  await assertStatesKept({ ...target, lanes }).catch((error: unknown) => Promise.reject(withStateAdvice(error, topics)));
  warnings.push(...(await findOtherGroups(target)));
  // A missing topic has none, and confirming that it doesn't exist takes a second.
  const written = pipelines.filter(({ name }) => !made.created.includes(target.names(`${name}.dead-letters`)));
  const none = Object.fromEntries(pipelines.map(({ name }) => [name, {}]));
  const openDeadLetters = { ...none, ...(await countOpenOf({ log, group, pipelines: written, names: target.names })) };
  warnings.push(...openDeadLetterLines(openDeadLetters, commandsFor(context)));
  const growth = made.grown.length === 0 ? '' : `, partitions will be added to ${growthWords(made.grown)}`;
  // Topics of sections with problems aren't known.
  const message = pipelines.length === 0 ? found : `${found}, ${topicsToMake(made.created)}${growth}`;
  return { ok: true, message, warnings, openDeadLetters };
}

function topicsToMake({ length }: readonly string[]): string {
  if (length === 0) return 'all topics exist';
  return length === 1 ? '1 topic will be created' : `${length} topics will be created`;
}

async function nearestFolder(path: string): Promise<string> {
  try {
    await access(path);
    return path;
  } catch {
    return dirname(path) === path ? path : await nearestFolder(dirname(path));
  }
}
