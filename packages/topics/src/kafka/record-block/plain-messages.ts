import type { Message } from 'kafkajs';
import { type BlockOptions, type BlockRecords, recordAt } from './block-record.ts';

/** The records as kafkajs's own messages: the same bytes on the wire as a block of them, at several times the work. */
export function plainMessages(records: BlockRecords, options: BlockOptions): Message[] {
  // As text: kafkajs takes a timestamp of the number 0 for a missing one.
  const common = { partition: options.partition, timestamp: String(options.timestampMs) };
  return Array.from({ length: records.length }, (_, index) => {
    const { key, value, headers } = recordAt(records, index);
    return headers === undefined ? { key, value, ...common } : { key, value, headers, ...common };
  });
}
