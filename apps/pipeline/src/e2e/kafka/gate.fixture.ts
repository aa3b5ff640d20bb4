import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';

/** API keys of the Kafka protocol. */
export const API = { findCoordinator: 10, describeConfigs: 32 } as const;

/** Where all clients of a broker come by, once it advertises this address: requests of some kinds can be kept from it. */
export interface Gate extends AsyncDisposable {
  /** The broker's setting. */
  readonly settings: { readonly 'advertised.listeners': string };
  /** Where the broker really is. */
  leadTo(address: string): void;
  /** Requests of this kind get no answer until `open`; what is asked behind one on its connection waits for it. */
  hold(api: number): void;
  open(): void;
}

/** `latencyMs`: how long answers are on their way. Default 0. */
export async function gate({ latencyMs = 0 }: { readonly latencyMs?: number } = {}): Promise<Gate> {
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
      // Four bytes of size, then the request, which begins with its API key.
      while (rest.length >= 6 && rest.length >= 4 + rest.readInt32BE(0)) {
        if (held.has(rest.readInt16BE(4))) return void waiting.add(passOn);
        const end = 4 + rest.readInt32BE(0);
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
