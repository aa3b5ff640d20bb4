import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { startKafkaBroker } from '@headgate/broker';

export interface Traffic {
  readonly requests: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly byApi: ReadonlyMap<string, number>;
}

export interface CountedBroker extends AsyncDisposable {
  readonly brokers: readonly string[];
  /** The traffic since the previous call. */
  traffic(): Traffic;
}

/** Names of Kafka's API keys (Kafka protocol, "API keys"). Other keys are shown as numbers. */
const API_NAMES: Readonly<Record<number, string>> = {
  0: 'Produce',
  1: 'Fetch',
  2: 'ListOffsets',
  3: 'Metadata',
  8: 'OffsetCommit',
  9: 'OffsetFetch',
  10: 'FindCoordinator',
  11: 'JoinGroup',
  12: 'Heartbeat',
  13: 'LeaveGroup',
  14: 'SyncGroup',
  15: 'DescribeGroups',
  18: 'ApiVersions',
  19: 'CreateTopics',
  22: 'InitProducerId',
  24: 'AddPartitionsToTxn',
  25: 'AddOffsetsToTxn',
  26: 'EndTxn',
  28: 'TxnOffsetCommit',
  32: 'DescribeConfigs',
  65: 'DescribeTransactions',
};

/** Client IDs of the requests that the broker sends to itself. They also come through the proxy. */
const OF_BROKERS = /^(?:broker|AddPartitionsManager)-/u;

/** Starts a broker, and a counting proxy that its clients connect to. */
export async function countedBroker(): Promise<CountedBroker> {
  let byApi = new Map<string, number>();
  let [requests, sentBytes, receivedBytes] = [0, 0, 0];
  let upstreamPort = 0;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(upstreamPort, '127.0.0.1');
    const onPiece = requestHeads(({ apiKey, clientId }) => {
      if (OF_BROKERS.test(clientId)) return;
      const name = API_NAMES[apiKey] ?? `#${apiKey}`;
      requests += 1;
      byApi.set(name, (byApi.get(name) ?? 0) + 1);
    });
    client.on('data', (piece: Buffer) => {
      sentBytes += piece.length;
      onPiece(piece);
    });
    upstream.on('data', (piece: Buffer) => (receivedBytes += piece.length));
    client.pipe(upstream);
    upstream.pipe(client);
    for (const socket of [client, upstream]) {
      sockets.add(socket.setNoDelay());
      socket.on('error', () => undefined);
      socket.once('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const broker = await startKafkaBroker({ settings: { 'advertised.listeners': `BROKER://127.0.0.1:${port}` } });
  upstreamPort = Number(broker.brokers[0]?.split(':')[1]);
  return {
    brokers: [`127.0.0.1:${port}`],
    traffic() {
      const seen = { requests, sentBytes, receivedBytes, byApi };
      [requests, sentBytes, receivedBytes, byApi] = [0, 0, 0, new Map()];
      return seen;
    },
    async [Symbol.asyncDispose]() {
      await broker.close();
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

interface RequestHead {
  readonly apiKey: number;
  readonly clientId: string;
}

/** Bytes before the client ID: size (int32), API key and version (int16 each), correlation ID (int32), length of the client ID (int16). */
const FIXED_BYTES = 14;

/** Returns a function that takes what a client sends, piece by piece. It calls `onRequest` for each request. */
export function requestHeads(onRequest: (head: RequestHead) => void): (piece: Buffer) => void {
  let head: Buffer = Buffer.alloc(0);
  let restBytes = 0;
  return (piece) => {
    for (let at = 0; at < piece.length;) {
      if (restBytes > 0) {
        const skipped = Math.min(restBytes, piece.length - at);
        restBytes -= skipped;
        at += skipped;
        continue;
      }
      const missing = headBytes(head) - head.length;
      head = Buffer.concat([head, piece.subarray(at, at + missing)]);
      at += missing;
      if (head.length < headBytes(head)) continue;
      onRequest({ apiKey: head.readInt16BE(4), clientId: head.toString('utf8', FIXED_BYTES) });
      restBytes = 4 + head.readInt32BE(0) - head.length;
      head = Buffer.alloc(0);
    }
  };
}

/** Number of bytes up to the end of the client ID. `FIXED_BYTES` until the length of the client ID is known. */
function headBytes(head: Buffer): number {
  return FIXED_BYTES + (head.length < FIXED_BYTES ? 0 : Math.max(0, head.readInt16BE(12)));
}
