import type { Json } from '@headgate/throttle';
import { type TopicLog, textOf } from '@headgate/topics';
import { closedDeadLetters } from '../lane/closed-dead-letters.ts';
import { DEAD_LETTERS, HELD } from '../topics/dead-letter.ts';
import { GROUP_STATE } from '../topics/names.ts';
import type { TopicMap } from '../topics/topic.ts';
import type { StateChange } from '../lane/lane.ts';
import { STATE_KEYS } from '../lane/lane-state.ts';
import type { WorkContext } from '../definition/processor.ts';

/** A part of a page that couldn't be written, as the lane's state stores it. Its dead letter is open as long as it's stored. */
interface HeldPart {
  readonly key: string;
  /** `RefusedPart.held`. */
  readonly value: Json;
  /** ID of the walk that saw it last. */
  readonly seenBy: string;
}

/** The held parts of a lane. */
export interface HeldParts {
  of(this: void, key: string): readonly Json[];
  /** Starts the changes of a page. */
  page(this: void, walk: { readonly id: string; readonly key: string }): HeldPage;
  /** Forgets the parts of a key whose dead letters were dismissed. Call it before a walk of the key. */
  forgetDismissed(this: void, key: string): Promise<void>;
}

/** The changes of one page. They count when `apply` is called. */
export interface HeldPage {
  /** Returns the mark of a part that isn't held yet, for its dead letter; undefined if it's held already. */
  hold(id: string, value: Json): string | undefined;
  has(id: string): boolean;
  /** Releases the parts that the walk hasn't refused. Returns their number. */
  releaseUnseen(): number;
  /** The values of the parts that are held after the page. */
  values(): readonly Json[];
  readonly changes: readonly StateChange[];
  apply(): void;
}

export function heldParts({
  pipeline,
  group = 'headgate',
  lane,
  kind,
  log,
  names,
}: Pick<WorkContext<never, TopicMap>, 'pipeline' | 'group' | 'lane' | 'kind' | 'log' | 'names'>): HeldParts {
  const prefix = STATE_KEYS.held + kind;
  const parts = new Map(lane.stateUnder(prefix).map(({ key: mark, value }) => [mark, value as HeldPart]));
  const ofKey = (all: ReadonlyMap<string, HeldPart>, key: string) => [...all].filter(([, part]) => part.key === key);
  const letters = letterOffsets(log, { topic: names(`${pipeline}.${DEAD_LETTERS}`), partition: lane.partition });
  return {
    of: (key) => ofKey(parts, key).map(([, { value }]) => value),
    page({ id: walk, key }) {
      const after = new Map(parts);
      const changed = new Set<string>();
      return {
        hold(id, value) {
          const mark = `${key}#${id}`;
          const isNew = !after.has(mark);
          after.set(mark, { key, value, seenBy: walk });
          changed.add(mark);
          return isNew ? kind + mark : undefined;
        },
        has: (id) => after.has(`${key}#${id}`),
        releaseUnseen() {
          const unseen = ofKey(after, key).filter(([, { seenBy }]) => seenBy !== walk);
          for (const [mark] of unseen) {
            after.delete(mark);
            changed.add(mark);
          }
          return unseen.length;
        },
        values: () => ofKey(after, key).map(([, { value }]) => value),
        get changes() {
          return [...changed].map((mark): StateChange => [prefix + mark, after.get(mark) ?? null]);
        },
        apply() {
          for (const mark of changed) {
            const part = after.get(mark);
            if (part === undefined) parts.delete(mark);
            else parts.set(mark, part);
          }
        },
      };
    },
    async forgetDismissed(key) {
      const own = ofKey(parts, key);
      if (own.length === 0) return;
      const { offsets, end } = await letters();
      const state = await log.readState(names(GROUP_STATE), 0);
      const closed = closedDeadLetters(group, state, { topic: names(`${pipeline}.${DEAD_LETTERS}`), partition: lane.partition }, end);
      const dismissed = own.filter(([mark]) => {
        const offset = offsets.get(kind + mark);
        return offset !== undefined && closed.has(offset);
      });
      if (dismissed.length === 0) return;
      await lane.commit({ records: [], state: dismissed.map(([mark]): StateChange => [prefix + mark, null]) });
      for (const [mark] of dismissed) parts.delete(mark);
    },
  };
}

/** Returns a function that reads the offsets of the dead letters of held parts, by their marks. It reads only what was added since. */
function letterOffsets(log: TopicLog, { topic, partition }: { readonly topic: string; readonly partition: number }) {
  const offsets = new Map<string, number>();
  let read = 0;
  return async () => {
    const [found] = await log.listTopics([topic]);
    const end = found?.offsets[partition]?.end ?? 0;
    if (end > read) {
      for await (const { offset, headers } of log.readBytes({ topic, partitions: [partition], from: read })) {
        const mark = headers[HELD] && textOf(headers[HELD]);
        if (mark !== undefined) offsets.set(mark, offset);
      }
      read = end;
    }
    return { offsets, end };
  };
}
