import type { Message } from 'kafkajs';
import { asBuffer, mapHeaders } from '../../record-fields.ts';
import { type BatchOptions, type BatchRecords, recordAt } from './batch-record.ts';

/** The records as kafkajs's own messages: the same bytes on the wire as a batch of them, at several times the work. */
export function plainMessages(records: BatchRecords, options: BatchOptions): Message[] {
  // As text: kafkajs takes a timestamp of the number 0 for a missing one.
  const common = { partition: options.partition, timestamp: String(options.timestampMs) };
  return Array.from({ length: records.length }, (_, index) => {
    const { key, value, headers } = recordAt(records, index);
    const fields = { key: key && forKafkajs(key), value: value && forKafkajs(value), ...common };
    return headers === undefined ? fields : { ...fields, headers: { ...mapHeaders(headers, forKafkajs) } };
  });
}

/** It would write any other array of bytes as the text of its numbers. */
function forKafkajs(field: string | Uint8Array): string | Buffer {
  return typeof field === 'string' ? field : asBuffer(field);
}
