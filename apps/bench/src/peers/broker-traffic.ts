import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { startKafkaBroker } from '@headgate/broker';

export interface Traffic {
  readonly requests: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

export interface CountedBroker extends AsyncDisposable {
  readonly brokers: readonly string[];
  /** The traffic since the previous call. */
  traffic(): Traffic;
}

/** Client IDs of the requests that the broker sends to itself. They also come through the proxy. */
const OF_BROKERS = /^(?:broker|AddPartitionsManager)-/u;

/** Starts a broker, and a counting proxy that its clients connect to. */
export async function countedBroker(): Promise<CountedBroker> {
  let [requests, sentBytes, receivedBytes] = [0, 0, 0];
  let upstreamPort = 0;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(upstreamPort, '127.0.0.1');
    const onPiece = requestHeads((clientId) => {
      if (!OF_BROKERS.test(clientId)) requests += 1;
    });
    client.on('data', (piece: Buffer) => {
      sentBytes += piece.length;
      onPiece(piece);
    });
    client.pipe(upstream);
    upstream.pipe(client);
    upstream.on('data', ({ length }: Buffer) => (receivedBytes += length));
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
      const seen = { requests, sentBytes, receivedBytes };
      [requests, sentBytes, receivedBytes] = [0, 0, 0];
      return seen;
    },
    async [Symbol.asyncDispose]() {
      await broker.close();
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** Bytes before the client ID: size (int32), API key and version (int16 each), correlation ID (int32), length of the client ID (int16). */
const FIXED_BYTES = 14;

/** Returns a function that takes what a client sends, piece by piece. It calls `onRequest` for each request, with the client ID. */
export function requestHeads(onRequest: (clientId: string) => void): (piece: Buffer) => void {
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
      onRequest(head.toString('utf8', FIXED_BYTES));
      restBytes = 4 + head.readInt32BE(0) - head.length;
      head = Buffer.alloc(0);
    }
  };
}

/** Number of bytes up to the end of the client ID. `FIXED_BYTES` until the length of the client ID is known. */
function headBytes(head: Buffer): number {
  return FIXED_BYTES + (head.length < FIXED_BYTES ? 0 : Math.max(0, head.readInt16BE(12)));
}
