import { once } from 'node:events';
import { appendFile } from 'node:fs/promises';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { join } from 'node:path';
import type { KafkaBroker } from '@headgate/broker';
import { type RequestHead, answeredId, frames, requestHead } from './kafka-frames.fixture.ts';

/**
 * What happens to a request. `cut request` closes the connection before the request reaches the broker, and `cut answer` before the response reaches
 * the client. With `answerBytes`, only that many bytes of the response arrive before the connection is closed. A promise delays the request until the
 * promise resolves. So does `after`; `answered` is called when the response has been passed on.
 */
export type Deed =
  | 'pass'
  | 'cut request'
  | 'cut answer'
  | { readonly after: Promise<unknown>; readonly answered: () => void }
  | { readonly answerBytes: number }
  | Promise<unknown>;

interface RunningBroker {
  readonly brokers: readonly string[];
  readonly close: () => Promise<void>;
}

/** A broker whose clients, including the broker itself, connect through a proxy. `rules` decide what happens to each request. */
export interface ProxiedBroker extends AsyncDisposable {
  readonly brokers: readonly string[];
  /** Rules by client ID. A rule is called once for each request of its client. Requests of other clients pass. */
  readonly rules: Map<string, (request: RequestHead) => Deed>;
  close(): Promise<void>;
}

/** Starts one node with `start`, behind a proxy on 127.0.0.1. */
export async function proxiedBroker(
  start: (options: { readonly settings: Readonly<Record<string, string>> }) => Promise<RunningBroker>,
): Promise<ProxiedBroker> {
  const rules: ProxiedBroker['rules'] = new Map();
  const proxy = await startProxy(rules);
  const broker = await start({ settings: { 'advertised.listeners': `BROKER://${proxy.address}` } });
  proxy.leadTo(broker.brokers[0] ?? '');
  return closable(rules, [proxy], broker);
}

/** Puts a separate proxy in front of each node of a cluster, and restarts the nodes for that. */
export async function proxiedCluster(cluster: RunningBroker & Pick<KafkaBroker, 'nodes' | 'folder'>): Promise<ProxiedBroker> {
  const rules: ProxiedBroker['rules'] = new Map();
  const proxies = await Promise.all(
    cluster.nodes.map(async ({ id, address, kill }) => {
      const proxy = await startProxy(rules);
      proxy.leadTo(address);
      await kill();
      await appendFile(join(cluster.folder, `node-${id}`, 'server.properties'), `advertised.listeners=BROKER://${proxy.address}\n`);
      return proxy;
    }),
  );
  await Promise.all(cluster.nodes.map((node) => node.start()));
  return closable(rules, proxies, cluster);
}

interface Proxy {
  readonly address: string;
  readonly leadTo: (address: string) => void;
  readonly close: () => Promise<unknown>;
}

async function startProxy(rules: ProxiedBroker['rules']): Promise<Proxy> {
  const clients = new Set<Socket>();
  let upstreamPort = 0;
  const server = createServer((client) => {
    clients.add(client);
    client.once('close', () => clients.delete(client));
    relay(client, connect(upstreamPort, '127.0.0.1'), (request) => rules.get(request.client)?.(request) ?? 'pass');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    leadTo: (address) => void (upstreamPort = Number(address.split(':')[1])),
    close: () => {
      for (const client of clients) client.destroy();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

function closable(rules: ProxiedBroker['rules'], proxies: readonly Proxy[], broker: RunningBroker): ProxiedBroker {
  const close = async (): Promise<void> => {
    await broker.close();
    for (const proxy of proxies) await proxy.close();
  };
  return { brokers: proxies.map(({ address }) => address), rules, close, [Symbol.asyncDispose]: close };
}

/** Delays the next request of `client` for which `fits` returns true, and no later one, until `letGo` is called. */
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
  /** How many bytes of a response arrive before the cut, by correlation ID. */
  const cutOff = new Map<number, number>();
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
        if (deed === 'cut answer') cutOff.set(head.correlationId, 0);
        if (deed instanceof Promise) await deed;
        else if (typeof deed === 'object' && 'answerBytes' in deed) cutOff.set(head.correlationId, deed.answerBytes);
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
      const bytes = cutOff.get(id);
      if (bytes !== undefined && !client.destroyed) client.write(frame.subarray(0, bytes), cut);
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
