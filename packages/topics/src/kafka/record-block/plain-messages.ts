import type { Message } from 'kafkajs';
import type { BlockOptions, BlockRecord } from './block-record.ts';

/** The records as kafkajs's own messages: the same bytes on the wire as a block of them, at several times the work. */
export function plainMessages(records: readonly BlockRecord[], options: BlockOptions): Message[] {
  // As text: kafkajs takes a timestamp of the number 0 for a missing one.
  const common = { partition: options.partition, timestamp: String(options.timestampMs) };
  return records.map(({ key, value, headers }) => (headers === undefined ? { key, value, ...common } : { key, value, headers, ...common }));
}
