import { type OpenByCode, countOpenDeadLetters } from '@headgate/pipeline';
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
