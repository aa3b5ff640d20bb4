import { once } from 'node:events';
import { type AddressInfo, type Socket, createServer } from 'node:net';
import { availability, type AvailabilityChange } from '../../availability.ts';
import { frames, type RequestHead, requestHead } from '../faults/kafka-frames.fixture.ts';
import { RequestWriter } from '../wire/request-writer.ts';
import { BrokerAddresses } from './broker-addresses.ts';
import type { ClusterConfig } from './cluster.ts';
import { plainConfig } from './plain-cluster.fixture.ts';

/** Writes the body of a response, or returns undefined to send none. */
type Answer = (request: RequestHead, body: RequestWriter, socket: Socket) => RequestWriter | undefined;

export interface SocketBroker extends AsyncDisposable {
  readonly address: string;
  /** Names of the requests that have come, in order. */
  readonly asked: readonly string[];
  /** Number of connections that have been accepted. */
  readonly connections: () => number;
  readonly config: ClusterConfig;
  readonly changes: readonly AvailabilityChange[];
}

/** A broker that answers requests with bytes. `answer` can leave the first request of each connection, ApiVersions, to `namesVersions`. */
export async function socketBroker(answer: Answer): Promise<SocketBroker> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket.on('error', () => undefined));
    socket.on(
      'data',
      frames((frame) => {
        const request = requestHead(frame);
        asked.push(request.api);
        const body = answer(request, new RequestWriter(false), socket);
        if (body === undefined) return;
        const bytes = Buffer.concat(body.pieces);
        socket.write(Buffer.concat([...new RequestWriter(false).int32(4 + bytes.length).int32(request.correlationId).pieces, bytes]));
      }),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const changes: AvailabilityChange[] = [];
  const closing = new AbortController();
  return {
    address,
    asked,
    changes,
    connections: () => connections,
    config: {
      ...plainConfig([]),
      addresses: new BrokerAddresses([address]),
      availability: availability((change) => changes.push(change)),
      signal: closing.signal,
    },
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('closed'));
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Writes a response to ApiVersions that supports versions up to `max` of these API keys. */
export function namesVersions(keys: readonly number[], max = 99): Answer {
  return ({ api }, body) => {
    if (api !== 'ApiVersions') return undefined;
    body.int16(0);
    // The response is flexible, although its header isn't: compact lengths, and an empty list of tagged fields after each item.
    body.uint8(keys.length + 1);
    for (const key of keys) body.int16(key).int16(0).int16(max).uint8(0);
    return body.int32(0).uint8(0);
  };
}
