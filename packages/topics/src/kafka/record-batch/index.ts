export { BatchSplitter, RecordTooLargeError } from './split-batches.ts';
export { COMPRESSIONS, registerCodecs } from './codecs.ts';
export { batchPieces } from './record-batch.ts';
export type { BatchRecord, BatchRecords } from './batch-record.ts';
export type { Compression } from './codecs.ts';
export type { RecordBatch } from './record-batch.ts';
export type { SplitBatch } from './split-batches.ts';
