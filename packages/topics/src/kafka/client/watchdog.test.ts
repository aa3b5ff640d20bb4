import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { expect, it, vi } from 'vitest';
import type { AvailabilityWatcher } from '../../availability.ts';
import type { RequestQueue, SentRequest } from './kafkajs-internals.ts';
import { Watchdog } from './watchdog.ts';

it('a broker that owes a response at six checks is missed until it responds', async () => {
  await using wire = await newWire();
  wire.look(10);
  wire.send();
  await once(wire.broker, 'data');
  wire.look(5);
  expect(wire.told).toEqual([]);
  wire.look(3);
  expect(wire.told).toEqual(["127.0.0.1:9092 isn't responding"]);
  await wire.answer();
  wire.look(10);
  expect(wire.told).toEqual(["127.0.0.1:9092 isn't responding", 'available']);
});

it('a broker is missed since the first check at which it owed a response', async () => {
  await using wire = await newWire();
  wire.send();
  await once(wire.broker, 'data');
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    const firstMs = Date.now();
    for (let look = 0; look < 8; look += 1) {
      wire.look(1);
      vi.setSystemTime(Date.now() + 500);
    }
    expect(wire.since).toEqual([firstMs]);
  } finally {
    vi.useRealTimers();
  }
});

it('a broker that accepts no connection is missed after four checks, also by waiting requests, until it accepts one', () => {
  const told: string[] = [];
  const watcher = {
    unavailable: (reason: string) => void told.push(reason),
    available: () => void told.push('available'),
    abandoned: () => undefined,
  };
  // The lookup of the host's name never ends.
  const socket = connect({ host: 'broker-1', port: 9092, lookup: () => undefined });
  const watchdog = new Watchdog({
    socket,
    broker: 'broker-1:9092',
    watcher,
    connection: { requestQueue: queueOf(new Map()) },
    addresses: { explained: (reason) => `${reason}, as ever`, silent: () => undefined, areSeveral: true },
  });
  for (let look = 0; look < 3; look += 1) watchdog.check();
  expect(told).toEqual([]);
  for (let look = 0; look < 9; look += 1) watchdog.check();
  expect(told).toEqual(["broker-1:9092 isn't responding, as ever"]);
  socket.emit('connect');
  expect(told.at(-1)).toBe('available');
  socket.destroy();
});

it.for([{ what: 'a request that may take longer', entry: { apiKey: 1, answersWithinMs: 8_000 } }])(
  '$what is missed later',
  async ({ entry }) => {
    await using wire = await newWire();
    wire.send(entry);
    await once(wire.broker, 'data');
    wire.look(15);
    expect(wire.told).toEqual([]);
    wire.look(1);
    expect(wire.told).toEqual(["127.0.0.1:9092 isn't responding"]);
  },
);

it.for([
  {
    what: 'a write, if others have copies of it',
    apiKey: 0,
    hasOthers: true,
    says: ["127.0.0.1:9092 isn't responding, or waits for another broker"],
  },
  { what: 'a write, if there are no others', apiKey: 0, hasOthers: false, says: ["127.0.0.1:9092 isn't responding", 'silent'] },
  { what: 'a request that the broker answers alone', apiKey: 3, hasOthers: true, says: ["127.0.0.1:9092 isn't responding", 'silent'] },
])('a broker may not be the one that is missing: $what', async ({ apiKey, hasOthers, says }) => {
  await using wire = await newWire({ hasOthers });
  wire.send({ apiKey });
  await once(wire.broker, 'data');
  wire.look(6);
  expect([...wire.told, ...wire.causes]).toEqual(says);
  expect(wire.silent).toEqual(['127.0.0.1:9092']);
});

it('a broker that responds to one of two requests is missed for the other', async () => {
  await using wire = await newWire();
  wire.send();
  wire.send();
  await once(wire.broker, 'data');
  wire.look(5);
  await wire.answer();
  wire.look(5);
  expect(wire.told).toEqual([]);
  wire.look(1);
  expect(wire.told).toEqual(["127.0.0.1:9092 isn't responding"]);
});

it('a broker that sends a response bit by bit isn’t missed until it stops in the middle', async () => {
  await using wire = await newWire();
  wire.send();
  for (let bit = 0; bit < 4; bit += 1) {
    wire.broker.write('part');
    await once(wire.client, 'data');
    wire.look(5);
  }
  expect(wire.told).toEqual([]);
  wire.look(1);
  expect(wire.told).toEqual(["127.0.0.1:9092 isn't responding"]);
});

it('a broker that owes the response to an authentication is missed', async () => {
  await using wire = await newWire({ authHandlers: {} });
  wire.look(6);
  expect(wire.told).toEqual(["127.0.0.1:9092 isn't responding"]);
});

it('a request fails when it is overdue, even if the clock is changed', async () => {
  await using wire = await newWire();
  const { overdue } = wire.send({ apiKey: 1 }, 2_000);
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    vi.setSystemTime(Date.now() + 3_600_000);
    wire.look(4);
    expect(overdue).not.toHaveBeenCalled();
    wire.look(1);
    expect(overdue).toHaveBeenCalledOnce();
  } finally {
    vi.useRealTimers();
  }
});

it('the request after a failed one has its full time', async () => {
  await using wire = await newWire();
  const { overdue } = wire.send({ apiKey: 1 }, 2_000);
  overdue.mockImplementation(() => wire.forget());
  wire.send();
  wire.look(5);
  expect(overdue).toHaveBeenCalledOnce();
  wire.look(5);
  expect(wire.told).toEqual([]);
  wire.look(1);
  expect(wire.told).toEqual(["127.0.0.1:9092 isn't responding"]);
});

it('a broker that responds slowly, but in time, isn’t missed', async () => {
  await using wire = await newWire();
  for (let request = 0; request < 5; request += 1) {
    wire.send();
    await once(wire.broker, 'data');
    wire.look(5);
    await wire.answer();
  }
  expect(wire.told).toEqual([]);
});

it('a closed connection is missed a while longer: its requests in flight report it meanwhile', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  try {
    await using wire = await newWire();
    wire.send();
    await once(wire.broker, 'data');
    wire.look(6);
    wire.watchdog.end();
    expect(wire.told).toHaveLength(1);
    vi.advanceTimersByTime(2_000);
    expect(wire.told.at(-1)).toBe('available');
  } finally {
    vi.useRealTimers();
  }
});

function queueOf(inflight: ReadonlyMap<number, SentRequest>): RequestQueue {
  return { inflight } as RequestQueue;
}

async function newWire({
  authHandlers = null,
  hasOthers = false,
}: { readonly authHandlers?: object | null; readonly hasOthers?: boolean } = {}) {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [[broker]] = (await Promise.all([once(server, 'connection'), once(client, 'connect')])) as [[Socket], unknown];
  const told: string[] = [];
  const since: (number | undefined)[] = [];
  const causes: string[] = [];
  const silent: string[] = [];
  const watcher: AvailabilityWatcher = {
    unavailable: (reason, sinceMs, cause) => {
      told.push(reason);
      since.push(sinceMs);
      if (cause !== undefined) causes.push(cause);
    },
    available: () => void told.push('available'),
    abandoned: () => undefined,
  };
  const inflight = new Map<number, SentRequest>();
  const watchdog = new Watchdog({
    connection: { requestQueue: queueOf(inflight), authHandlers },
    socket: client,
    broker: '127.0.0.1:9092',
    watcher,
    addresses: { explained: String, silent: (address) => void silent.push(address), areSeveral: hasOthers },
  });
  let sent = 0;
  const forget = (): void => {
    const [oldest = 0] = inflight.keys();
    inflight.delete(oldest);
  };
  return {
    client,
    broker,
    told,
    since,
    causes,
    silent,
    watchdog,
    send(entry: SentRequest['entry'] = { apiKey: 0 }, requestTimeout = Infinity) {
      const overdue = vi.fn<() => void>();
      inflight.set((sent += 1), { entry, requestTimeout, timeoutRequest: overdue });
      client.write('request');
      return { overdue };
    },
    async answer() {
      broker.write('answer');
      await once(client, 'data');
      forget();
    },
    forget,
    look: (times: number) => {
      for (let look = 0; look < times; look += 1) watchdog.check();
    },
    async [Symbol.asyncDispose]() {
      client.destroy();
      broker.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
