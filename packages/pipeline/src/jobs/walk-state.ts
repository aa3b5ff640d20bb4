import type { Checkpoint } from '@headgate/sources';
import type { Json } from '@headgate/throttle';
import { PipelineError } from '../settings/pipeline-error.ts';
import { FROM_START, RESUME, type JobRecord } from '../topics/job.ts';
import { textOf } from '../settings/thrown.ts';
import { STATE_KEYS } from '../lane/lane-state.ts';
import type { Job, WorkContext } from '../definition/processor.ts';
import type { Lane, StateChange } from '../lane/lane.ts';
import type { TopicMap } from '../topics/topic.ts';
import type { AfterStage } from './after.ts';

/** A walk's state between two transactions, as the lane's state keeps it. */
export interface WalkState<Cursor extends NonNullable<Json>> {
  readonly key: string;
  /** Where the walk continues. Undefined for the first page. */
  readonly at?: Checkpoint<Cursor> | undefined;
  readonly items: number;
  /** The states of transforms, by name. */
  readonly through?: Readonly<Record<string, Json>> | undefined;
  /** Values of `carry`. `before`: from the previous walk. `now`: the value for the next page. */
  readonly carried?: { readonly before?: Json | undefined; readonly now?: Json | undefined } | undefined;
  /** Offsets by topic. All records of the walk are at or after them. Set only if the definition has `after`. */
  readonly offsets?: Readonly<Record<string, number>> | undefined;
  /** True if the walk continues a failed walk. */
  readonly isRest?: true | undefined;
  /** The work after the walk, once all pages are written. */
  readonly after?: AfterStage | undefined;
  /** The request's JSON. It is kept here, because the topic can delete the request before the walk ends. */
  readonly request: string | null;
}

/** The part of a walk's state with which a replayed request starts. */
export type WalkStart<Cursor extends NonNullable<Json>> = Pick<WalkState<Cursor>, 'at' | 'through' | 'carried' | 'isRest'>;

/**
 * Returns the walks in a lane's state, by the offset of their request. A walk that an earlier version stored has no `at`, so it starts
 * again.
 */
export function walkStates<Cursor extends NonNullable<Json>>(state: Lane['stateUnder']): ReadonlyMap<number, WalkState<Cursor>> {
  return new Map(state(STATE_KEYS.job).map(({ key, value }) => [Number(key), value as WalkState<Cursor>]));
}

/** Returns the unfinished walks in a lane's state as requests. */
export function resumedWalks(state: Lane['stateUnder']): readonly JobRecord[] {
  return [...walkStates(state)].map(([offset, { key, request }]) => ({ offset, key, value: request }));
}

/** Returns the row of a job. Undefined: the job begins. */
export function rowOf<Cursor extends NonNullable<Json>>({ row }: Pick<Job, 'row'>): WalkState<Cursor> | undefined {
  return row as WalkState<Cursor> | undefined;
}

/**
 * Returns a copy of a value as the checkpoint stores it. Copy what a function of a definition gets or returns, because it may change that
 * value for the next page, and that page can fail.
 */
export function copyOf<Value extends Json | undefined>(value: Value): Value {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as Value);
}

/** Returns the number of the page that follows a checkpoint, 1-based. Without a checkpoint, it is 1. */
export function pageAfter({ pages = 0 }: { readonly pages?: number } = {}): number {
  return pages + 1;
}

/** The position of a failed walk. A walk that continues there counts its pages from 1. */
export interface RestNote<Cursor extends NonNullable<Json>> extends Pick<WalkState<Cursor>, 'through' | 'carried'> {
  readonly cursor: Cursor;
  /** ID of the failed walk's request. Set if walks carry a value: the lane's state then has the rest of the note. */
  readonly of?: string;
}

/**
 * Returns the position at which a failed walk continues. Undefined if the walk should start over: it is at its start, or in a loop that it
 * would enter again.
 */
export function restNote<Cursor extends NonNullable<Json>>({ at, through, carried }: WalkState<Cursor>): RestNote<Cursor> | undefined {
  return at === undefined || at.isCircle === true ? undefined : { cursor: at.cursor, through, carried };
}

/** Returns the state with which a walk starts that continues a failed one. */
export function startOf<Cursor extends NonNullable<Json>>({ cursor, through, carried }: RestNote<Cursor>): WalkStart<Cursor> {
  return { at: { cursor }, through, carried, isRest: true };
}

type Failures = Pick<WorkContext<never, TopicMap>, 'lane' | 'kind'>;

/**
 * Returns the failed walk of a key, if walks carry a value. The next walk of the key continues it, whether it is a replay or a new request.
 */
export function failedWalk<Cursor extends NonNullable<Json>>({ lane, kind }: Failures, key: string): RestNote<Cursor> | undefined {
  return lane.stateAt(STATE_KEYS.failed + kind + key) as RestNote<Cursor> | undefined;
}

/** Returns the change after which the key's next walk continues a failed one, or starts over. */
export function failedWalkChange<Cursor extends NonNullable<Json>>(
  { lane, kind }: Failures,
  key: string,
  note: RestNote<Cursor> | undefined,
): readonly StateChange[] {
  const at = STATE_KEYS.failed + kind + key;
  return note === undefined && lane.stateAt(at) === undefined ? [] : [[at, note ?? null]];
}

/** A value of the header `headgate-resume` that a failed walk, or failed work after a walk, has left in its dead letter. */
type ResumeNote<Cursor extends NonNullable<Json>> = RestNote<Cursor> | { readonly after: AfterStage };

/** Throws a `PipelineError` (HEADGATE_MALFORMED_REQUEST) for an invalid header. */
function resumeNote<Cursor extends NonNullable<Json>>({ resume }: Pick<JobRecord, 'resume'>): ResumeNote<Cursor> | undefined {
  if (resume === undefined || resume === FROM_START) return undefined;
  try {
    const { after, cursor, ...note } = JSON.parse(resume) as Partial<RestNote<Cursor> & { readonly after: AfterStage }>;
    if (typeof after?.crawl?.id === 'string') return { after };
    if (cursor === null || cursor === undefined) throw new TypeError('it has no cursor');
    return { ...note, cursor };
  } catch (cause) {
    const message = `The job's header ${RESUME} is invalid, so replay didn't write it: ${textOf(cause)}. Add the job again without the header.`;
    throw new PipelineError({ code: 'HEADGATE_MALFORMED_REQUEST', message, cause });
  }
}

/**
 * Returns the position at which the walk of a replayed request continues, if any. Throws a `PipelineError` (HEADGATE_MALFORMED_REQUEST) for
 * an invalid header.
 */
export function rest<Cursor extends NonNullable<Json>>(record: Pick<JobRecord, 'resume'>): RestNote<Cursor> | undefined {
  const note = resumeNote<Cursor>(record);
  return note === undefined || 'after' in note ? undefined : note;
}

/** Returns the work that a job does instead of a walk: its walk is complete, or it is a replay of that work. Throws like {@link rest}. */
export function afterStageOf(
  saved: Pick<WalkState<NonNullable<Json>>, 'at' | 'after'> | undefined,
  record: Pick<JobRecord, 'resume'>,
): AfterStage | undefined {
  if (saved?.after !== undefined || saved?.at !== undefined) return saved.after;
  const note = resumeNote(record);
  return note !== undefined && 'after' in note ? note.after : undefined;
}
