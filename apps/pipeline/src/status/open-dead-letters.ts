import { type OpenByCode, countOpenDeadLetters } from '@headgate/pipeline';
import type { Clock } from '@headgate/throttle';
import { pause } from '@headgate/throttle/internal';
import type { RunView } from './run-view.ts';
import { countWords, groupedNumber, totalOf } from './text/number-words.ts';
import { safeText } from './text/safe-text.ts';

/** Open dead letters by pipeline and by code. */
export type OpenDeadLetters = Readonly<Record<string, OpenByCode>>;

export interface CountOptions extends Omit<Parameters<typeof countOpenDeadLetters>[0], 'pipeline'> {
  readonly pipelines: readonly { readonly name: string }[];
}

export async function countOpenOf({ pipelines, ...where }: CountOptions): Promise<OpenDeadLetters> {
  const counting = pipelines.map(async ({ name }) => [name, await countOpenDeadLetters({ ...where, pipeline: name })] as const);
  return Object.fromEntries(await Promise.all(counting));
}

/** Delay of the first count. A run that ends earlier counts once, at its end. */
const FIRST_COUNT_MS = 1_000;
/** Interval between counts while dead letters may be open: another process can replay or dismiss them. */
const COUNT_EVERY_MS = 60_000;
/** Minimum time from a count to the next one, as a multiple of the count's duration. */
const SHARE = 20;

/** Counts the open dead letters until the signal aborts. `hasWritten`: whether this run has written any. */
export async function watchOpenDeadLetters(
  where: Omit<CountOptions, 'signal'>,
  clock: Clock,
  signal: AbortSignal,
  hasWritten: () => boolean,
  onCounted: (open: OpenDeadLetters) => void,
): Promise<void> {
  let isAny = true;
  for (let ms = FIRST_COUNT_MS; ;) {
    await pause({ clock, ms, signal });
    const startedMs = clock.monotonicMs();
    // Lanes report a log that can't be read, so this error is dropped.
    const open: OpenDeadLetters | undefined =
      isAny || hasWritten() ? await countOpenOf({ ...where, signal }).catch(() => undefined) : undefined;
    signal.throwIfAborted();
    if (open !== undefined) {
      isAny = Object.values(open).some((counts) => totalOf(counts) > 0);
      onCounted(open);
    }
    ms = Math.max(COUNT_EVERY_MS, SHARE * (clock.monotonicMs() - startedMs));
  }
}

/** The command that the user types: `headgate read followers.ids --config jobs/a.yaml`. */
export type CommandFor = (command: 'read' | 'replay' | 'dismiss' | 'dead-letters' | 'enqueue' | 'run', argument: string) => string;

/** Maximum error codes in a line. */
const NAMED = 3;

/** A line for each pipeline with open dead letters: `followers: 200 dead letters are open (HEADGATE_NOT_FOUND 200): headgate dead-letters followers`. */
export function openDeadLetterLines(open: OpenDeadLetters, commandFor: CommandFor): readonly string[] {
  return Object.entries(open).flatMap(([pipeline, counts]) => {
    const total = totalOf(counts);
    if (total === 0) return [];
    const codes = Object.entries(counts).toSorted(([, one], [, other]) => other - one);
    const named = codes.slice(0, NAMED).map(([code, count]) => `${safeText(code, 60)} ${groupedNumber(count)}`);
    const more = codes.length > NAMED ? [`${codes.length - NAMED} more`] : [];
    const are = total === 1 ? 'is' : 'are';
    const command = safeText(commandFor('dead-letters', pipeline), 1_000);
    return [`${pipeline}: ${countWords(total, 'dead letter')} ${are} open (${[...named, ...more].join(', ')}): ${command}`];
  });
}

/** The open dead letters of each pipeline that has more of them than this run has written, so that some are from earlier runs. */
export function olderOpenDeadLetters({ openDeadLetters = {}, pipelines }: Pick<RunView, 'openDeadLetters' | 'pipelines'>): OpenDeadLetters {
  return Object.fromEntries(
    Object.entries(openDeadLetters).filter(([pipeline, counts]) => totalOf(counts) > (pipelines[pipeline]?.deadLetters ?? 0)),
  );
}
