import type { Checkpoint } from '@headgate/sources';
import type { Json } from '@headgate/throttle';
import { PipelineError } from '../definition/pipeline-error.ts';
import { RESUME, type RequestRecord } from '../definition/request.ts';
import { textOf } from '../definition/thrown.ts';
import { STATE_KEYS } from '../engine/lane-state.ts';
import type { StateOfLane } from '../engine/processor.ts';

/** A walk's state between two transactions, as the lane's state keeps it. */
export interface WalkState<Cursor extends NonNullable<Json>> {
  readonly key: string;
  /** Undefined before the first page. */
  readonly at?: Checkpoint<Cursor> | undefined;
  readonly items: number;
  /** The states of transforms, by name. */
  readonly through?: Readonly<Record<string, Json>> | undefined;
  /** Values of `carry`: from the previous walk, and from the pages of this one. */
  readonly carried?: { readonly before?: Json | undefined; readonly now?: Json | undefined } | undefined;
  /** By topic: no record of the walk is before this offset. Stored if there is work after the walk. */
  readonly offsets?: Readonly<Record<string, number>> | undefined;
  /** Whether the walk started where the walk of a dead letter failed. */
  readonly isRest?: true | undefined;
  /** The request's own text: the walk may outlive it in the topic. */
  readonly request: string | null;
}

/** Where a walk begins. */
export type WalkStart<Cursor extends NonNullable<Json>> = Pick<WalkState<Cursor>, 'at' | 'through' | 'carried' | 'isRest'>;

/** The walks in a lane's state, by offset. A walk whose state an earlier version wrote in another form begins again. */
export function walkStates<Cursor extends NonNullable<Json>>(state: StateOfLane): ReadonlyMap<number, WalkState<Cursor>> {
  return new Map(state(STATE_KEYS.walk).map(({ key, value }) => [Number(key), value as WalkState<Cursor>]));
}

/** The unfinished walks in a lane's state, as requests. */
export function resumedWalks(state: StateOfLane): readonly RequestRecord[] {
  return [...walkStates(state)].map(([offset, { key, request }]) => ({ offset, key, value: request }));
}

/** Number of the page at a checkpoint. */
export function pageAfter({ pages = 0 }: { readonly pages?: number } = {}): number {
  return pages + 1;
}

/** The part of a walk that a dead letter stores, so that its replay continues there: it is a separate walk, whose pages count from 1. */
interface RestNote<Cursor extends NonNullable<Json>> extends Pick<WalkState<Cursor>, 'through' | 'carried'> {
  readonly cursor: Cursor;
}

/** Undefined for a walk without a page, and for one in a loop, which can't continue from there. */
export function restNote<Cursor extends NonNullable<Json>>({ at, through, carried }: WalkState<Cursor>): string | undefined {
  if (at === undefined || at.isCircle === true) return undefined;
  const note: RestNote<Cursor> = { cursor: at.cursor, through, carried };
  return JSON.stringify(note);
}

/** The state of a walk whose request a replay enqueued again. Throws a `PipelineError` for a note that no walk wrote. */
export function rest<Cursor extends NonNullable<Json>>({ resume }: Pick<RequestRecord, 'resume'>): WalkStart<Cursor> | undefined {
  if (resume === undefined) return undefined;
  try {
    const { cursor, ...states } = JSON.parse(resume) as RestNote<Cursor>;
    if (cursor === null || cursor === undefined) throw new TypeError('it has no cursor');
    return { ...states, at: { cursor }, isRest: true };
  } catch (cause) {
    const message = `The job's header ${RESUME} is invalid, so replay didn't write it: ${textOf(cause)}. Add the job again without the header.`;
    throw new PipelineError({ code: 'HEADGATE_MALFORMED_REQUEST', message, cause });
  }
}
