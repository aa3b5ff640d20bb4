import { type Pipeline, type Probe as PipelineProbe, topicNames } from '@headgate/pipeline';
import { openJournalledLane } from '@headgate/pipeline/internal';
import type { AttemptEvent, SourceError } from '@headgate/sources';
import { type Clock, creditPool, type Journal } from '@headgate/throttle';
import { LaneHeldError } from '@headgate/topics';
import { lanesInLog, prepareTopics } from '../run/topics.ts';
import type { ConfigOfLog } from '../run/topics.ts';
import { createTimeWords } from '../status/text/time-words.ts';
import type { Probe, ProbeResult, ValidSections } from './check.ts';
import type { CommandContext } from './command-context.ts';
import { ANSWER_WITHIN_MS, type Within, withLog } from './with-log.ts';

/**
 * Returns probes that test one credential each. A probe's request is recorded in the journal of the credential's lane, so the next run
 * counts it.
 */
export function onlineProbes(valid: ValidSections, context: CommandContext, isLogUsable: () => boolean): Probe[] {
  const { topics, pipelines } = valid;
  return pipelines.flatMap((pipeline) => {
    const { name, credentials, canProbe } = pipeline;
    const unknown: ProbeResult = {
      ok: true,
      message: 'not tested: the pipeline has no probe. A run shows whether its credentials work',
    };
    if (!canProbe) return [{ name, run: () => Promise.resolve(unknown) }];
    return (credentials ?? [undefined]).map((credential, i): Probe => {
      const run = async (): Promise<ProbeResult> =>
        topics !== undefined && isLogUsable() ? await probeNoted(pipeline, i, { topics, pipelines }, context) : notNoted;
      return { name: credential === undefined ? name : `${name} ${credential}`, run };
    });
  });
}

const notNoted: ProbeResult = {
  ok: false,
  message: "not tested: its request couldn't be recorded in the log, so a run would not count it",
};

async function probeNoted(pipeline: Pipeline, credential: number, config: ConfigOfLog, context: CommandContext): Promise<ProbeResult> {
  const result = await noted(pipeline, credential, config, context, async (journal, within) => {
    return await answerOf(pipeline, credential, { ...context, journal }, (probed) => within(PROBED_WITHIN_MS, probed));
  });
  if (!(result instanceof LaneHeldError)) return result;
  const by = result.pid === null ? 'a run' : `a run (process ${result.pid})`;
  return { ok: true, message: `not tested: ${by} uses it and counts its requests. Check that run's output for errors of this credential.` };
}

/**
 * Calls `ask` with the journal of the credential's lane, so that the next run counts its requests. `credential`: index among the pipeline's.
 * Resolves to the error if a run holds the lane.
 */
export async function noted<Result>(
  pipeline: Pipeline,
  credential: number,
  config: ConfigOfLog,
  { clock, signal }: Pick<CommandContext, 'clock' | 'signal'>,
  ask: (journal: Journal, within: Within) => Promise<Result>,
): Promise<Result | LaneHeldError> {
  const { topics } = config;
  const names = topicNames(topics);
  return await withLog({ topics, clock }, async (log, within) => {
    const opening = async (): ReturnType<typeof openJournalledLane> => {
      await prepareTopics(log, config);
      const lanes = await lanesInLog(log, topics, pipeline.name);
      const number = pipeline.credentials === undefined ? 0 : credential % lanes;
      return await openJournalledLane({ log, group: topics.group, lanes, names, clock, pipeline, number, signal, onlyIfFree: true });
    };
    const opened = await within(ANSWER_WITHIN_MS, opening()).catch((error: unknown) => {
      if (error instanceof LaneHeldError) return error;
      throw error;
    });
    if (opened instanceof LaneHeldError) return opened;
    try {
      return await ask(opened.journal, within);
    } finally {
      await opened.lane.close();
    }
  });
}

/** Maximum time (ms) for a service to respond. */
export const PROBED_WITHIN_MS = 45_000;

async function answerOf(
  pipeline: Pipeline,
  credential: number,
  { clock, env, signal, journal }: Pick<CommandContext, 'clock' | 'env' | 'signal'> & { readonly journal: Journal },
  within: (probed: Promise<ProbeResult>) => Promise<ProbeResult>,
): Promise<ProbeResult> {
  const credits = creditPool({ max: 1 });
  const refused = Promise.withResolvers<ProbeResult>();
  // The source would retry after it reached the rate limit, but the command promises one request per credential.
  const onAttempt = ({ outcome, reason = 'the rate limit is reached' }: AttemptEvent): void => {
    if (outcome === 'rate-limited') refused.resolve({ ok: true, message: `responds: ${reason}, so another program uses its budget` });
  };
  const probe = pipeline.probe({ clock, env, signal, journal, credits, onAttempt }, credential);
  if (probe === undefined) throw new TypeError(`${pipeline.name} has a probe.`);
  try {
    const full = fullUntil(probe.source.gauges(), clock);
    if (full !== undefined) return { ok: true, message: `not tested: its budget is used up${full}` };
    return await within(Promise.race([answers(() => probe.query()), refused.promise]));
  } finally {
    await probe.source.close();
  }
}

/** Shorter waits (ms) are ignored: they are only differences between two readings of the clock. */
const NO_WAIT_MS = 20;

/** Describes when the budgets allow the next request: empty if that is unknown; undefined if they allow one within `waitMs`. */
export function fullUntil(
  { budgets }: ReturnType<PipelineProbe['source']['gauges']>,
  clock: Clock,
  waitMs = NO_WAIT_MS,
): string | undefined {
  const now = clock.epochMs();
  const freeAt = Math.max(...budgets.map(({ freeAt: at = Infinity }) => at));
  if (freeAt <= now + waitMs) return undefined;
  return freeAt < Infinity ? ` until ${createTimeWords().when(freeAt, now)}` : '';
}

/** A credential is valid if the service accepts it, even if the response is an error about something else. */
async function answers(query: () => Promise<unknown>): Promise<ProbeResult> {
  try {
    await query();
    return { ok: true, message: 'answers' };
  } catch (error) {
    // The SourceError of a user's pipeline can come from another copy of the package.
    const { endsSource, retryable, message } = error as Partial<SourceError> & Error;
    // An error without `retryable`, such as an abort, says nothing about the credential.
    if (retryable === undefined) throw error;
    if (endsSource !== true && !retryable) return { ok: true, message: `answers: ${message}` };
    // The end of the message addresses programs that use the library, so it is replaced.
    return {
      ok: false,
      message: message.replace(/ Retry (?:later|after that), or allow more time \(retryFor; in code retryForMs\)\.$/, LATER),
    };
  }
}

const LATER = ' Check again later; a run retries automatically.';
