export { RecordBatches, RecordTooLargeError } from './message-batches.ts';
export { registerCodecs } from './codecs.ts';
export type { BatchOptions, BatchRecord, BatchRecords } from './batch-record.ts';
export type { Compressions } from './codecs.ts';
export type { RecordBatch, RecordBatchesOptions, SplitOptions } from './message-batches.ts';
