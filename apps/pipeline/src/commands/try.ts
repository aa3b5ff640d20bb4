import type { Pipeline } from '@headgate/pipeline';
import type { TriedStream } from '@headgate/rest';
import { creditPool } from '@headgate/throttle';
import { LaneHeldError } from '@headgate/topics';
import { failureText, sourceText } from '../run/failure-text.ts';
import type { ConfigOfLog } from '../run/topics.ts';
import { durationWords } from '../status/text/duration-words.ts';
import { countWords, numberWords } from '../status/text/number-words.ts';
import { safeText } from '../status/text/safe-text.ts';
import { type CommandContext, readConfig } from './command-context.ts';
import { PROBED_WITHIN_MS, fullUntil, noted } from './online-probes.ts';
import { UsageError } from './usage-error.ts';

/**
 * Sends one request of a stream, such as `github.issues`, and shows its records and the next request. `fields`: those of the job, each as
 * `owner=nodejs`. Resolves to the exit code: 1 if there is no response to show.
 */
export async function tryStream(of: string, fields: readonly string[], context: CommandContext): Promise<number> {
  const { stdout, stderr, signal } = context;
  const config = await readConfig(context);
  const { pipeline, stream } = streamOf('try', of, config.pipelines);
  const tried = await triedOnce(pipeline, requestOf('try', pipeline, stream, fields), config, context);
  signal.throwIfAborted();
  if (typeof tried === 'string') {
    stderr.write(`headgate: ${tried} Nothing was written. Then try again.\n`);
    return 1;
  }
  stdout.write(`${triedLines(tried).join('\n')}\n`);
  return 0;
}

/** Sends one request, which the next run counts. `value`: the job, as JSON. Resolves to the reason, if there is no response to show. */
export async function triedOnce(
  pipeline: Pipeline,
  value: string,
  config: ConfigOfLog,
  context: Pick<CommandContext, 'clock' | 'env' | 'signal'>,
): Promise<TriedStream | string> {
  const { pages, ended = '' } = await triedPages(pipeline, value, 1, config, context);
  return pages[0] ?? ended;
}

/** The responses of a stream, and the reason why there are fewer than requested, unless the list ended. */
export interface TriedPages {
  readonly pages: readonly TriedStream[];
  readonly ended?: string;
}

/** Requests up to `most` pages, which the next run counts. Waits for the budget only before a later page, and only for a moment. */
export async function triedPages(
  pipeline: Pipeline,
  value: string,
  most: number,
  config: ConfigOfLog,
  context: Pick<CommandContext, 'clock' | 'env' | 'signal'>,
): Promise<TriedPages> {
  const { clock, env, signal } = context;
  const tried = await noted(pipeline, 0, config, context, async (journal, within) => {
    const io = { clock, env, signal, journal, credits: creditPool({ max: 1 }), onAttempt: () => undefined };
    const probe = pipeline.probe(io, 0, value);
    if (probe === undefined) throw new TypeError(`${pipeline.name} has a probe.`);
    const pages: TriedStream[] = [];
    let ask: TriedStream['following'] = async () => (await probe.query()) as TriedStream;
    try {
      while (ask !== undefined && pages.length < most) {
        const full = fullUntil(probe.source.gauges(), clock, pages.length === 0 ? undefined : MOMENT_MS);
        if (full !== undefined) return { pages, ended: `not sent: its budget is used up${full}` };
        const page: TriedStream = await within(PROBED_WITHIN_MS, ask());
        pages.push(page);
        ask = page.following;
      }
      return { pages };
    } catch (error) {
      return { pages, ended: sourceText(error) };
    } finally {
      await probe.source.close();
    }
  });
  return tried instanceof LaneHeldError ? { pages: [], ended: `${failureText(tried)} No request was sent.` } : tried;
}

/** Maximum wait for a slot of the budget before a later page, ms. */
const MOMENT_MS = 10_000;

function triedLines({ request, status, at, records, examples, next, left, warnings }: TriedStream): string[] {
  const reset = left?.resetInMs === undefined ? '' : `, resets in ${durationWords(left.resetInMs)}`;
  return [
    `${safeText(request, 500)}: ${status}`,
    `${countWords(records, 'record')} at ${safeText(at, 100)}${examples.length === 0 ? '' : ', beginning with'}`,
    ...examples.map(({ key, value }) => `  ${key === undefined ? '(no key)' : safeText(key, 60)}  ${safeText(JSON.stringify(value), 200)}`),
    next === undefined ? 'no further page' : `next page: ${safeText(next, 500)}`,
    ...(left === undefined ? [] : [`limit, from the response: ${numberWords(left.remaining)} left${reset}`]),
    ...warnings.map((warning) => `warning: ${safeText(warning, 300)}`),
    'Nothing was written. The request counts against the budget of the next run.',
  ];
}

/** The pipeline and the stream. A section's name has no dot, so the first dot separates them. */
export function streamOf(
  command: string,
  text: string,
  pipelines: readonly Pipeline[],
): { readonly pipeline: Pipeline; readonly stream: string } {
  const [name = '', stream = ''] = text.split(/\.(.*)/su);
  const pipeline = pipelines.find((one) => one.name === name && streamsOf(one).length > 0);
  const all = pipelines.flatMap((one) => streamsOf(one).map((of) => `${one.name}.${of}`));
  if (pipeline === undefined || !streamsOf(pipeline).includes(stream))
    throw new UsageError(
      `${command}: there is no stream ${text}. ${all.length === 0 ? 'No section has use: rest.' : `There are ${all.join(', ')}.`}`,
    );
  return { pipeline, stream };
}

function streamsOf({ options }: Pipeline): readonly string[] {
  const { streams } = Object(options) as { readonly streams?: object };
  return streams === undefined ? [] : Object.keys(streams);
}

/** The job with these fields. Without fields, the first listed job of the stream, if there is one. */
export function requestOf(command: string, pipeline: Pipeline, stream: string, fields: readonly string[]): string {
  const given = fields.map((field) => {
    const [name = '', value] = field.split(/=(.*)/su);
    if (value === undefined) throw new UsageError(`${command}: --for ${field} has no value. Write --for ${name}=value.`);
    return [name, value] as const;
  });
  const listed = given.length > 0 ? undefined : pipeline.listed()[Symbol.iterator]();
  for (let next = listed?.next(); next !== undefined && next.done !== true; next = listed?.next()) {
    if ((JSON.parse(next.value.value) as { readonly stream: string }).stream === stream) return next.value.value;
  }
  const value = JSON.stringify({ stream, ...Object.fromEntries(given) });
  try {
    pipeline.requests.parse(value);
  } catch (error) {
    throw new UsageError(
      `${command}: ${error instanceof Error ? error.message : String(error)} Write each field of the stream, as in --for NAME=VALUE.`,
    );
  }
  return value;
}
