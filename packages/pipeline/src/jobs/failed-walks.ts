import type { Json } from '@headgate/throttle';
import type { StateChange } from '../lane/lane.ts';
import { STATE_KEYS } from '../lane/lane-state.ts';
import type { WorkContext } from '../definition/processor.ts';
import type { TopicMap } from '../topics/topic.ts';
import type { RestNote } from './walk-state.ts';

/** The failed walk of each key, if walks carry a value. The next walk of the key continues it, whether it is a replay or a new request. */
export interface FailedWalks<Cursor extends NonNullable<Json>> {
  of(this: void, key: string): RestNote<Cursor> | undefined;
  /** Notes that a walk failed. Undefined: the next walk starts over. Returns the change for the transaction of its dead letter. */
  failed(this: void, key: string, note: RestNote<Cursor> | undefined): readonly StateChange[];
}

export function failedWalks<Cursor extends NonNullable<Json>>({
  lane,
  kind,
}: Pick<WorkContext<never, TopicMap>, 'lane' | 'kind'>): FailedWalks<Cursor> {
  const prefix = STATE_KEYS.failed + kind;
  const notes = new Map(lane.stateUnder(prefix).map(({ key, value }) => [key, value as RestNote<Cursor>]));
  return {
    of: (key) => notes.get(key),
    failed(key, note) {
      const isNoted = notes.delete(key);
      if (note !== undefined) notes.set(key, note);
      return isNoted || note !== undefined ? [[prefix + key, note ?? null]] : [];
    },
  };
}
