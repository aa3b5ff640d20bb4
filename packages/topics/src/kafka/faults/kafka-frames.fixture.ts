/** Names of requests by API key (Kafka protocol, "API keys"). */
const NAMES: Readonly<Record<number, string>> = {
  0: 'Produce',
  1: 'Fetch',
  2: 'ListOffsets',
  3: 'Metadata',
  8: 'OffsetCommit',
  9: 'OffsetFetch',
  10: 'FindCoordinator',
  18: 'ApiVersions',
  22: 'InitProducerId',
  24: 'AddPartitionsToTxn',
  25: 'AddOffsetsToTxn',
  26: 'EndTxn',
  27: 'WriteTxnMarkers',
  28: 'TxnOffsetCommit',
  61: 'DescribeProducers',
  65: 'DescribeTransactions',
};

export interface RequestHead {
  /** Name of the request; `#<API key>` for one without a name in this file. */
  readonly api: string;
  readonly correlationId: number;
  readonly client: string;
}

/** Reads a request's header: after the size, the API key, version, correlation ID and client ID. */
export function requestHead(frame: Buffer): RequestHead {
  const key = frame.readInt16BE(4);
  const clientBytes = Math.max(0, frame.readInt16BE(12));
  return { api: NAMES[key] ?? `#${key}`, correlationId: frame.readInt32BE(8), client: frame.toString('utf8', 14, 14 + clientBytes) };
}

export function answeredId(frame: Buffer): number {
  return frame.readInt32BE(4);
}

/** Cuts a stream of bytes into frames, each of which begins with its size. */
export function frames(onFrame: (frame: Buffer) => void): (piece: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (piece) => {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    while (rest.length >= 4 && rest.length >= 4 + rest.readInt32BE(0)) {
      const end = 4 + rest.readInt32BE(0);
      onFrame(rest.subarray(0, end));
      rest = rest.subarray(end);
    }
  };
}
