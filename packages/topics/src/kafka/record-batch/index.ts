export { BlockRecordTooLargeError } from './record-too-large-error.ts';
export { MessageBlocks } from './message-batches.ts';
export { registerCodecs } from './codecs.ts';
export type { BlockOptions, BlockRecord, BlockRecords } from './batch-record.ts';
export type { Compressions } from './codecs.ts';
export type { MessageBlock, MessageBlocksOptions, SplitOptions } from './message-batches.ts';
