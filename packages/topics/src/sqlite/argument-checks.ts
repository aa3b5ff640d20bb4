import type { OffsetCommit, TopicSpec } from '../topic-log.ts';

/** The characters and length that Kafka allows, so that a topic can move to Kafka. */
const TOPIC_NAME = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/;
const MAX_PARTITIONS = 10_000;

/** Throws a `RangeError` for a topic that Kafka would not accept. */
export function assertTopic({ name, partitions }: TopicSpec): void {
  if (!TOPIC_NAME.test(name)) {
    throw new RangeError(`"${name}" isn't a topic name: write 1 to 249 of the characters A-Z a-z 0-9 . _ -, but not . or ..`);
  }
  if (partitions > MAX_PARTITIONS) {
    throw new RangeError(`Topic "${name}" can't have ${partitions} partitions; the limit is ${MAX_PARTITIONS}`);
  }
}

export function assertOffset({ group, nextOffset }: OffsetCommit): void {
  if (Number.isSafeInteger(nextOffset) && nextOffset >= 0) return;
  throw new RangeError(`${nextOffset} isn't an offset to commit for group "${group}".`);
}
