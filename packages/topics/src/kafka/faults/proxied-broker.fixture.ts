import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { type RequestHead, answeredId, frames, requestHead } from './kafka-frames.fixture.ts';

/**
 * The fate of a request: a promise delays it until it resolves; a cut closes the connection before the request, or after the broker has
 * done it; `answered` is called as soon as the answer to a delayed one has been passed on.
 */
export type Deed =
  | 'pass'
  | 'cut request'
  | 'cut answer'
  | { readonly after: Promise<unknown>; readonly answered: () => void }
  | Promise<unknown>;

interface RunningBroker {
  readonly brokers: readonly string[];
  readonly close: () => Promise<void>;
}

/** A broker whose clients, itself among them, connect through a proxy that decides on each request by `rules`. */
export interface ProxiedBroker extends AsyncDisposable {
  /** The proxy's addresses. */
  readonly brokers: readonly string[];
  /** By client id: called once for each of its requests. Requests of other clients pass. */
  readonly rules: Map<string, (request: RequestHead) => Deed>;
  close(): Promise<void>;
}

/** Starts one node by `start`, behind a proxy on 127.0.0.1. */
export async function proxiedBroker(
  start: (options: { readonly settings: Readonly<Record<string, string>> }) => Promise<RunningBroker>,
): Promise<ProxiedBroker> {
  const clients = new Set<Socket>();
  const rules: ProxiedBroker['rules'] = new Map();
  let upstreamPort = 0;
  const server = createServer((client) => {
    clients.add(client);
    client.once('close', () => clients.delete(client));
    relay(client, connect(upstreamPort, '127.0.0.1'), (request) => rules.get(request.client)?.(request) ?? 'pass');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const broker = await start({ settings: { 'advertised.listeners': `BROKER://127.0.0.1:${port}` } });
  upstreamPort = Number(broker.brokers[0]?.split(':')[1]);
  const close = async (): Promise<void> => {
    await broker.close();
    for (const client of clients) client.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    brokers: [`127.0.0.1:${port}`],
    rules,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Holds the first request of `client` that fits, and no other, from now on. */
export function holdFirst(
  { rules }: ProxiedBroker,
  client: string,
  fits: (request: RequestHead) => boolean,
): { readonly reached: Promise<void>; readonly letGo: () => void } {
  const reached = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let held = false;
  rules.set(client, (request) => {
    if (held || !fits(request)) return 'pass';
    held = true;
    reached.resolve();
    return gate.promise;
  });
  return { reached: reached.promise, letGo: gate.resolve };
}

function relay(client: Socket, upstream: Socket, rule: (request: RequestHead) => Deed): void {
  const unanswered = new Set<number>();
  const whenAnswered = new Map<number, () => void>();
  const cut = (): void => {
    client.destroy();
    upstream.destroy();
  };
  let turn: Promise<unknown> = Promise.resolve();
  client.on(
    'data',
    frames((frame) => {
      const head = requestHead(frame);
      const deed = rule(head);
      turn = turn.then(async () => {
        if (deed === 'cut request') return cut();
        if (deed === 'cut answer') unanswered.add(head.correlationId);
        if (deed instanceof Promise) await deed;
        else if (typeof deed === 'object') {
          whenAnswered.set(head.correlationId, deed.answered);
          await deed.after;
        }
        if (!upstream.destroyed) upstream.write(frame);
      });
    }),
  );
  upstream.on(
    'data',
    frames((frame) => {
      const id = answeredId(frame);
      if (unanswered.has(id)) cut();
      else if (!client.destroyed) client.write(frame);
      whenAnswered.get(id)?.();
      whenAnswered.delete(id);
    }),
  );
  for (const socket of [client, upstream]) {
    socket.on('error', cut);
    socket.on('close', cut);
  }
}
