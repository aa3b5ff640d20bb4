import type { Socket } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { heartbeat, leaveGroup } from '../requests/groups.ts';
import { produce } from '../requests/transactions.ts';
import { type Authentication, BrokerConnection } from './broker-connection.ts';
import { Cluster } from './cluster.ts';
import { failureText, passes } from './driver-errors.ts';
import { brokerOf } from './error-kinds.ts';
import { namesVersions, socketBroker } from './socket-broker.fixture.ts';
import { assertKnownKafkajs } from './transport.ts';

const HEARTBEAT = 12;
const SASL_HANDSHAKE = 17;
const SASL_AUTHENTICATE = 36;
const ALL = namesVersions([0, HEARTBEAT, 13, SASL_HANDSHAKE, SASL_AUTHENTICATE]);
const MEMBER = { groupId: 'group', memberId: 'member', generationId: 1 };
const never = new AbortController().signal;
const thrown = async (work: Promise<unknown>): Promise<unknown> =>
  await work.then(
    () => undefined,
    (error: unknown) => error,
  );

it('only the version of kafkajs that the driver knows is used', () => {
  expect(() => assertKnownKafkajs()).not.toThrow();
  expect(() => assertKnownKafkajs('2.3.0')).toThrow(/kafkajs 2\.3\.0 is installed/u);
});

it('a request waits until the broker has named its versions', async () => {
  await using broker = await socketBroker((request, body, socket) => ALL(request, body, socket) ?? body.int32(0).int16(0));
  const cluster = new Cluster(broker.config);
  await Promise.all([
    cluster.ask(heartbeat, MEMBER, { broker: broker.address }),
    cluster.ask(leaveGroup, MEMBER, { broker: broker.address }),
  ]);
  expect(broker.asked).toEqual(['ApiVersions', '#12', '#13']);
  expect(broker.connections()).toBe(1);
});

it.each([
  ['the request', [3]],
  ['other versions only', [HEARTBEAT]],
] as const)('a request fails for good if the broker is known not to support %s, and isn’t sent', async (_, keys) => {
  const versions = namesVersions(keys, 0);
  await using broker = await socketBroker(versions);
  const connection = await BrokerConnection.open(broker.address, broker.config, never);
  const error = await thrown(connection.send(heartbeat, MEMBER));
  expect([passes(error), error]).toEqual([false, expect.objectContaining({ type: 'UNSUPPORTED_VERSION' })]);
  expect(broker.asked).toEqual(['ApiVersions']);
});

it('a broker before Kafka 3.0, which doesn’t know the first request, is refused with the version that Headgate needs', async () => {
  await using broker = await socketBroker((_, body) => body.int16(35).array([18], (key) => body.int16(key).int16(0).int16(2)));
  const error = await thrown(BrokerConnection.open(broker.address, broker.config, never));
  expect([passes(error), error]).toEqual([false, expect.objectContaining({ type: 'UNSUPPORTED_VERSION' })]);
});

describe('a connection that is lost', () => {
  it.each([0, 1, 3, 5, 20])('after %i bytes of a response passes, names its broker, and is replaced', async (bytes) => {
    let isCut = true;
    await using broker = await socketBroker((request, body, socket) => {
      if (request.api === 'ApiVersions') return ALL(request, body, socket);
      if (!isCut) return body.int32(0).int16(0);
      isCut = false;
      const response = Buffer.alloc(24, 1);
      response.writeInt32BE(200);
      socket.end(response.subarray(0, bytes));
      return undefined;
    });
    const cluster = new Cluster(broker.config);
    const error = await thrown(cluster.ask(heartbeat, MEMBER, { broker: broker.address }));
    expect([passes(error), failureText(error), brokerOf(error)]).toEqual([true, 'Closed connection', broker.address]);
    await cluster.ask(heartbeat, MEMBER, { broker: broker.address });
    expect(broker.connections()).toBe(2);
  });

  it.each([0, 3, -1, -2_147_483_648])('because it received a response size of %i passes, and is replaced', async (size) => {
    let isWrong = true;
    await using broker = await socketBroker((request, body, socket) => {
      if (request.api === 'ApiVersions') return ALL(request, body, socket);
      if (!isWrong) return body.int32(0).int16(0);
      isWrong = false;
      const response = Buffer.alloc(8);
      response.writeInt32BE(size);
      socket.write(response);
      return undefined;
    });
    const cluster = new Cluster(broker.config);
    const error = await thrown(cluster.ask(heartbeat, MEMBER, { broker: broker.address }));
    expect([passes(error), failureText(error)]).toEqual([true, expect.stringContaining(`invalid size ${size}`)]);
    await cluster.ask(heartbeat, MEMBER, { broker: broker.address });
    expect(broker.connections()).toBe(2);
  });

  it('while it is idle is replaced without an error', async () => {
    const sockets: Socket[] = [];
    await using broker = await socketBroker((request, body, socket) => {
      sockets.push(socket);
      return ALL(request, body, socket) ?? body.int32(0).int16(0);
    });
    const cluster = new Cluster(broker.config);
    await cluster.ask(heartbeat, MEMBER, { broker: broker.address });
    const [idle] = sockets;
    const isEnded = new Promise((resolve) => void idle?.once('end', resolve));
    idle?.end();
    await isEnded;
    await cluster.ask(heartbeat, MEMBER, { broker: broker.address });
    expect(broker.connections()).toBe(2);
  });

  it('with its cluster rejects requests in flight at once, and lets none begin', async () => {
    await using broker = await socketBroker((request, body, socket) => ALL(request, body, socket));
    const cluster = new Cluster(broker.config);
    const asking = thrown(cluster.ask(heartbeat, MEMBER, { broker: broker.address }));
    await expect.poll(() => broker.asked.length).toBe(2);
    const reason = new Error('enough');
    cluster.close(reason);
    expect(failureText(await asking)).toBe('enough');
    expect(await thrown(cluster.ask(heartbeat, MEMBER, { broker: broker.address }))).toBe(reason);
    expect(broker.connections()).toBe(1);
  });
});

describe('a broker that doesn’t respond', () => {
  /** A frozen broker. `tick` lets the driver check for overdue responses, half a second each time. */
  async function frozen(freezesAt: string, addresses: readonly string[] = [], sockets: Socket[] = []) {
    vi.useFakeTimers({ toFake: ['setInterval', 'setTimeout', 'clearInterval', 'clearTimeout', 'Date'] });
    const broker = await socketBroker((request, body, socket) => {
      sockets.push(socket);
      if (request.api === freezesAt) return undefined;
      return ALL(request, body, socket) ?? body.int32(0).int16(0);
    });
    for (const address of addresses) broker.config.addresses.answered(address);
    const untilAsked = async (): Promise<void> => {
      while (!broker.asked.includes(freezesAt)) await new Promise(setImmediate);
    };
    return {
      broker,
      untilAsked,
      tick: async (times: number) => await vi.advanceTimersByTimeAsync(500 * times),
      async [Symbol.asyncDispose]() {
        vi.useRealTimers();
        await broker[Symbol.asyncDispose]();
      },
    };
  }

  it('is reported after 3 s, and its connection is given up 12 s later', async () => {
    await using wire = await frozen('#12');
    const { broker, tick } = wire;
    const connection = await BrokerConnection.open(broker.address, broker.config, never);
    const sinceMs = Date.now();
    const sending = thrown(connection.send(heartbeat, MEMBER));
    await wire.untilAsked();
    await tick(5);
    // An outage is reported when it has lasted for 2 s.
    await tick(4);
    expect(broker.changes).toEqual([]);
    await tick(1);
    expect(broker.changes).toEqual([{ available: false, reason: `${broker.address} isn't responding`, sinceMs }]);
    await tick(19);
    expect(broker.config.addresses.inOrder([broker.address, 'other:9092'])).toEqual(['other:9092', broker.address]);
    await tick(1);
    const error = await sending;
    expect([passes(error), failureText(error), brokerOf(error)]).toEqual([true, `${broker.address} isn't responding`, broker.address]);
    expect(broker.changes).toHaveLength(1);
  });

  it('isn’t missed while it sends a response bit by bit, until it stops in the middle', async () => {
    const sockets: Socket[] = [];
    await using wire = await frozen('#12', [], sockets);
    const { broker, tick } = wire;
    const connection = await BrokerConnection.open(broker.address, broker.config, never);
    thrown(connection.send(heartbeat, MEMBER)).catch(() => undefined);
    await wire.untilAsked();
    const size = Buffer.alloc(4);
    size.writeInt32BE(100);
    for (let bit = 0; bit < 4; bit += 1) {
      sockets
        .at(-1)
        ?.setNoDelay(true)
        .write(bit === 0 ? size : 'part');
      for (let turn = 0; turn < 200; turn += 1) await new Promise(setImmediate);
      await tick(5);
    }
    await tick(4);
    expect(broker.changes).toEqual([]);
    await tick(2);
    expect(broker.changes).toHaveLength(1);
  });

  it('is given up right after its report if it doesn’t even name its versions', async () => {
    await using wire = await frozen('ApiVersions');
    const opening = thrown(BrokerConnection.open(wire.broker.address, wire.broker.config, never));
    await wire.untilAsked();
    await wire.tick(10);
    expect(wire.broker.changes).toHaveLength(1);
    await wire.tick(1);
    expect(failureText(await opening)).toBe(`${wire.broker.address} isn't responding`);
  });

  it('may wait for another one with a write, if there are others', async () => {
    await using wire = await frozen('Produce', ['10.0.0.5:9092']);
    const { broker, tick } = wire;
    const connection = await BrokerConnection.open(broker.address, broker.config, never);
    thrown(connection.send(produce[1], { transactionalId: 'lane', topicPartitions: [] })).catch(() => undefined);
    await wire.untilAsked();
    await tick(10);
    expect(broker.changes).toMatchObject([{ reason: `${broker.address} isn't responding, or waits for another broker` }]);
  });
});

it('a broker that responds late is available again', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'setTimeout', 'clearInterval', 'clearTimeout', 'Date'] });
  try {
    let answerLate = (): void => undefined;
    await using broker = await socketBroker((request, body, socket) => {
      if (request.api === 'ApiVersions') return ALL(request, body, socket);
      const response = Buffer.alloc(14);
      response.writeInt32BE(10);
      response.writeInt32BE(request.correlationId, 4);
      answerLate = () => void socket.write(response);
      return undefined;
    });
    const connection = await BrokerConnection.open(broker.address, broker.config, never);
    const sending = connection.send(heartbeat, MEMBER);
    while (broker.asked.length < 2) await new Promise(setImmediate);
    await vi.advanceTimersByTimeAsync(6_000);
    expect(broker.changes).toHaveLength(1);
    answerLate();
    await sending;
    expect(broker.changes.slice(1)).toEqual([{ available: true }]);
  } finally {
    vi.useRealTimers();
  }
});

describe('a connection that authenticates', () => {
  /** A broker whose sessions last `sessionMs`. */
  const withSessions = (sessionMs: number) =>
    socketBroker((request, body, socket) => {
      if (request.api === '#17') return body.int16(0).array(['TEST'], (name) => body.string(name));
      if (request.api === '#36') return body.int16(0).string(null).bytes([]).int64(sessionMs);
      return ALL(request, body, socket) ?? body.int32(0).int16(0);
    });
  const authentication: Authentication = {
    mechanism: 'TEST',
    authenticate: async (exchange) => void (await exchange(Buffer.from('hello'))),
  };

  it('does so again before its session ends, once, while requests wait', async () => {
    using clock = virtualClock();
    await using broker = await withSessions(3_500);
    const connection = await BrokerConnection.open(broker.address, { ...broker.config, authentication }, never);
    await connection.send(heartbeat, MEMBER);
    clock.pass(1_500);
    await Promise.all([connection.send(heartbeat, MEMBER), connection.send(heartbeat, MEMBER)]);
    expect(broker.asked).toEqual(['ApiVersions', '#17', '#36', '#12', '#17', '#36', '#12', '#12']);
  });

  it('doesn’t do so within a second, however short its session: brokers refuse that', async () => {
    using clock = virtualClock();
    await using broker = await withSessions(500);
    const connection = await BrokerConnection.open(broker.address, { ...broker.config, authentication }, never);
    const handshakes = async (): Promise<number> => {
      await connection.send(heartbeat, MEMBER);
      return broker.asked.filter((api) => api === '#17').length;
    };
    clock.pass(1_050);
    expect(await handshakes()).toBe(1);
    clock.pass(100);
    expect(await handshakes()).toBe(2);
  });

  it('passes if its token provider fails, as with the TypeError of fetch, and is closed', async () => {
    await using broker = await withSessions(0);
    const failing: Authentication = { mechanism: 'TEST', authenticate: () => Promise.reject(new TypeError('fetch failed')) };
    const error = await thrown(BrokerConnection.open(broker.address, { ...broker.config, authentication: failing }, never));
    expect([passes(error), failureText(error)]).toEqual([true, 'fetch failed']);
  });

  it('is refused with the text of the broker', async () => {
    await using broker = await socketBroker((request, body, socket) => {
      if (request.api === '#17') return body.int16(0).array([], () => undefined);
      if (request.api === '#36') return body.int16(58).string('no such user').bytes([]).int64(0);
      return ALL(request, body, socket);
    });
    const error = await thrown(BrokerConnection.open(broker.address, { ...broker.config, authentication }, never));
    expect([passes(error), failureText(error)]).toEqual([false, 'no such user (SASL_AUTHENTICATION_FAILED)']);
  });
});

it('an idle connection keeps no timer running', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  try {
    await using broker = await socketBroker((request, body, socket) => ALL(request, body, socket) ?? body.int32(0).int16(0));
    const connection = await BrokerConnection.open(broker.address, broker.config, never);
    await connection.send(heartbeat, MEMBER);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

it('waits as long as a broker tells it to, and other requests wait with it', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
  try {
    await using broker = await socketBroker((request, body, socket) => ALL(request, body, socket) ?? body.int32(300).int16(0));
    const connection = await BrokerConnection.open(broker.address, broker.config, never);
    await connection.send(heartbeat, MEMBER);
    const sending = Promise.all([connection.send(heartbeat, MEMBER), connection.send(heartbeat, MEMBER)]);
    vi.advanceTimersByTime(299);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    expect(broker.asked).toEqual(['ApiVersions', '#12']);
    vi.advanceTimersByTime(1);
    await sending;
    expect(broker.asked).toEqual(['ApiVersions', '#12', '#12', '#12']);
  } finally {
    vi.useRealTimers();
  }
});

/** Sets the clock of `performance`. */
function virtualClock(): Disposable & { readonly pass: (ms: number) => void } {
  vi.useFakeTimers({ toFake: ['performance'] });
  return { pass: (ms) => void vi.advanceTimersByTime(ms), [Symbol.dispose]: () => void vi.useRealTimers() };
}
