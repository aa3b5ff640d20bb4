import type { Json } from '@headgate/throttle';
import { textOf } from '@headgate/topics';
import { ClosedDeadLetters } from '../lane/closed-dead-letters.ts';
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

/** Held parts by their marks: the keys in the lane's state, without `held/` and the kind. */
type Parts = ReadonlyMap<string, HeldPart>;
type Context = Pick<WorkContext<never, TopicMap>, 'pipeline' | 'group' | 'lane' | 'kind' | 'log' | 'names'>;

/** The held parts of a lane. */
export class HeldParts {
  readonly #context: Context;
  readonly #parts: Map<string, HeldPart>;
  /** The offsets of the dead letters of held parts, by the parts' keys in the state, as far as they were read. */
  readonly #letters = new Map<string, number>();
  #lettersEnd = 0;

  constructor(context: Context) {
    this.#context = context;
    this.#parts = new Map(context.lane.stateUnder(STATE_KEYS.held + context.kind).map(({ key: mark, value }) => [mark, value as HeldPart]));
  }

  /** Returns the values of the held parts of a key. */
  of(key: string): readonly Json[] {
    return valuesOf(this.#parts, key);
  }

  /** Starts the changes of a page. */
  page(walk: { readonly id: string; readonly key: string }): HeldPage {
    return new HeldPage(this.#parts, this.#context.kind, walk);
  }

  /** Forgets the parts of a key whose dead letters were dismissed. Call it before a walk of the key. */
  async forgetDismissed(key: string): Promise<void> {
    const own = ofKey(this.#parts, key);
    if (own.length === 0) return;
    const { pipeline, group = 'headgate', lane, kind, log, names } = this.#context;
    await this.#readLetters();
    const letters = { topic: names(`${pipeline}.${DEAD_LETTERS}`), partition: lane.partition };
    const closed = new ClosedDeadLetters(group, await log.readState(names(GROUP_STATE), 0), letters, this.#lettersEnd);
    const dismissed = own.filter(([mark]) => {
      const offset = this.#letters.get(kind + mark);
      return offset !== undefined && closed.has(offset);
    });
    if (dismissed.length === 0) return;
    await lane.commit({ records: [], state: dismissed.map(([mark]): StateChange => [STATE_KEYS.held + kind + mark, null]) });
    for (const [mark] of dismissed) this.#parts.delete(mark);
  }

  /** Reads the dead letters that were added since the last call. */
  async #readLetters(): Promise<void> {
    const { pipeline, lane, log, names } = this.#context;
    const topic = names(`${pipeline}.${DEAD_LETTERS}`);
    const [end = 0] = await log.offsets([{ topic, partition: lane.partition }], 'end');
    if (end <= this.#lettersEnd) return;
    for await (const { offset, headers } of log.readBytes({ topic, partitions: [lane.partition], from: this.#lettersEnd })) {
      const mark = headers[HELD] && textOf(headers[HELD]);
      if (mark !== undefined) this.#letters.set(mark, offset);
    }
    this.#lettersEnd = end;
  }
}

/** The changes of one page. They count when `apply` is called. */
export class HeldPage {
  readonly #parts: Map<string, HeldPart>;
  readonly #after: Map<string, HeldPart>;
  readonly #changed = new Set<string>();
  readonly #kind: string;
  readonly #walk: { readonly id: string; readonly key: string };

  constructor(parts: Map<string, HeldPart>, kind: string, walk: { readonly id: string; readonly key: string }) {
    this.#parts = parts;
    this.#after = new Map(parts);
    this.#kind = kind;
    this.#walk = walk;
  }

  /** Returns the mark of a part that isn't held yet, for its dead letter; undefined if it's held already. */
  hold(id: string, value: Json): string | undefined {
    const { key, id: seenBy } = this.#walk;
    const mark = `${key}#${id}`;
    const isNew = !this.#after.has(mark);
    this.#after.set(mark, { key, value, seenBy });
    this.#changed.add(mark);
    return isNew ? this.#kind + mark : undefined;
  }

  has(id: string): boolean {
    return this.#after.has(`${this.#walk.key}#${id}`);
  }

  /** Releases the parts that the walk hasn't refused. Returns their number. */
  releaseUnseen(): number {
    const unseen = ofKey(this.#after, this.#walk.key).filter(([, { seenBy }]) => seenBy !== this.#walk.id);
    for (const [mark] of unseen) {
      this.#after.delete(mark);
      this.#changed.add(mark);
    }
    return unseen.length;
  }

  /** Returns the values of the parts that are held after the page. */
  values(): readonly Json[] {
    return valuesOf(this.#after, this.#walk.key);
  }

  get changes(): readonly StateChange[] {
    return [...this.#changed].map((mark) => [STATE_KEYS.held + this.#kind + mark, this.#after.get(mark) ?? null]);
  }

  apply(): void {
    for (const mark of this.#changed) {
      const part = this.#after.get(mark);
      if (part === undefined) this.#parts.delete(mark);
      else this.#parts.set(mark, part);
    }
  }
}

function ofKey(parts: Parts, key: string): readonly (readonly [mark: string, part: HeldPart])[] {
  return [...parts].filter(([, part]) => part.key === key);
}

function valuesOf(parts: Parts, key: string): readonly Json[] {
  return ofKey(parts, key).map(([, { value }]) => value);
}
