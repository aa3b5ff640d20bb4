export { BlockRecordTooLargeError } from './block-record-too-large-error.ts';
export { MessageBlocks } from './message-blocks.ts';
export { registerCodecs } from './codecs.ts';
export type { BlockOptions, BlockRecord, BlockRecords } from './block-record.ts';
export type { Compressions } from './codecs.ts';
export type { MessageBlock, MessageBlocksOptions, SplitOptions } from './message-blocks.ts';
