// kafkajs has types only for its index; the other modules have none.
declare module 'kafkajs/src/*' {
  const inside: unknown;
  export default inside;
}

declare module 'snappyjs' {
  const snappy: { uncompress(bytes: Buffer): Buffer; compress(bytes: Buffer): Buffer };
  export default snappy;
}

declare module 'lz4js' {
  const lz4: { decompress(bytes: Buffer): Uint8Array; compress(bytes: Buffer): Uint8Array };
  export default lz4;
}
