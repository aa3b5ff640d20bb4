export { RecordTooLargeError } from './record-too-large-error.ts';
export { RecordBatches } from './message-batches.ts';
export { registerCodecs } from './codecs.ts';
export type { BatchOptions, BatchRecord, BatchRecords } from './batch-record.ts';
export type { Compressions } from './codecs.ts';
export type { RecordBatch, RecordBatchesOptions, SplitOptions } from './message-batches.ts';
