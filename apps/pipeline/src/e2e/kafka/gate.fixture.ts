import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';

/** API keys of the Kafka protocol. */
export const API = { findCoordinator: 10, heartbeat: 12, describeConfigs: 32 } as const;

/** A proxy for all clients of a broker, which advertises the proxy's address. Requests of some kinds can be held back. */
export interface Gate extends AsyncDisposable {
  /** Settings of the broker, which make it advertise the proxy. */
  readonly settings: { readonly 'advertised.listeners': string };
  /** Sets the real address of the broker. */
  leadTo(address: string): void;
  /** Holds requests of this kind until `open` is called, with all later requests on their connections. */
  hold(api: number): void;
  open(): void;
  /** API keys of the requests of Headgate's processes, in order. */
  readonly requests: number[];
}

/** Client ID of Headgate's processes. */
const HEADGATE = Buffer.from('headgate');

/** Starts a proxy. `latencyMs` is the delay of responses. Default: 0. */
export async function gate({ latencyMs = 0 }: { readonly latencyMs?: number } = {}): Promise<Gate> {
  const requests: number[] = [];
  const held = new Set<number>();
  const waiting = new Set<() => void>();
  const sockets = new Set<Socket>();
  let port = 0;
  const server = createServer((client) => {
    const broker = connect(port, '127.0.0.1');
    for (const [socket, other] of [
      [client, broker],
      [broker, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => other.destroy());
    }
    if (latencyMs === 0) broker.pipe(client);
    else
      broker.on('data', (piece: Buffer) => {
        setTimeout(() => client.write(piece), latencyMs);
      });
    let rest: Buffer = Buffer.alloc(0);
    const passOn = (): void => {
      // A request is its size in four bytes, then its content, which begins with the API key.
      while (rest.length >= 6 && rest.length >= 4 + rest.readInt32BE(0)) {
        if (held.has(rest.readInt16BE(4))) return void waiting.add(passOn);
        const end = 4 + rest.readInt32BE(0);
        // The client ID is in byte 14, after its length.
        if (rest.subarray(14, 14 + rest.readInt16BE(12)).equals(HEADGATE)) requests.push(rest.readInt16BE(4));
        broker.write(rest.subarray(0, end));
        rest = rest.subarray(end);
      }
    };
    client.on('data', (piece: Buffer) => {
      rest = Buffer.concat([rest, piece]);
      passOn();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: own } = server.address() as AddressInfo;
  return {
    settings: { 'advertised.listeners': `BROKER://127.0.0.1:${own}` },
    leadTo: (address) => void (port = Number(address.split(':')[1])),
    requests,
    hold: (api) => void held.add(api),
    open() {
      held.clear();
      for (const goOn of waiting) goOn();
      waiting.clear();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
