import { setTimeout as sleep } from 'node:timers/promises';
import { startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { AvailabilityChange } from '../../availability.ts';
import type { ProxiedBroker } from '../faults/proxied-broker.fixture.ts';
import { kafkaTopicLog } from '../index.ts';
import { proxiedSaslBroker } from './proxied-sasl-broker.fixture.ts';
import { USER } from './secure-broker.fixture.ts';
import { steadyWriter } from './steady-writer.fixture.ts';
import { unsecuredToken } from './unsecured-token.fixture.ts';

const why = await whyNoKafkaBroker();
const LONG_MS = 3_600_000;
const HANDSHAKE = '#17';
const because = why === undefined ? '' : ` (skipped: ${why})`;

describe.skipIf(why !== undefined)(`a token that expires${because}`, () => {
  let broker: ProxiedBroker;
  beforeAll(async () => {
    broker = await proxiedSaslBroker({ start: startKafkaBroker, reauthenticateMs: 6_000 });
  });
  afterAll(() => broker?.close());

  /** Opens a log whose token can be changed, and whose requests are counted. */
  async function logWith({ client, lifetimeMs }: { readonly client: string; readonly lifetimeMs: number }) {
    const asked: string[] = [];
    broker.rules.set(client, ({ api }) => {
      asked.push(api);
      return 'pass';
    });
    const changes: AvailabilityChange[] = [];
    let value = unsecuredToken({ subject: USER, lifetimeMs });
    const opening = kafkaTopicLog({
      brokers: broker.brokers,
      clientId: client,
      replication: 1,
      onAvailability: (change) => changes.push(change),
      sasl: { mechanism: 'oauthbearer', oauthBearerProvider: async () => ({ value, renewedIn: './token' }) },
    });
    opening.catch(() => undefined);
    const count = (api: string): number => asked.filter((one) => one === api).length;
    return { opening, changes, count, renew: (ms: number) => void (value = unsecuredToken({ subject: USER, lifetimeMs: ms })) };
  }

  it('is used until it expires; then a new one is waited for with few connections, reported with the fix, and work continues', async ({
    expect,
  }) => {
    const { opening, changes, count, renew } = await logWith({ client: 'short', lifetimeMs: LONG_MS });
    const log = await opening;
    const writer = await steadyWriter({ log, name: 'short' });
    const failures: unknown[] = [];
    const nothing = (): void => undefined;
    const membership = { group: 'short', topics: ['records-of-short'], agreement: 'all', onAssigned: nothing, onUncertain: nothing };
    await log.joinGroup({ ...membership, onFailed: (error) => failures.push(error) });
    try {
      await writer.write();
      // The token is valid for longer than a session, so all connections have authenticated with it by the time it expires.
      renew(7_000);
      const expiresMs = Date.now() + 7_000;
      const atFirst = count(HANDSHAKE);
      // Brokers refuse a client that authenticates twice within a second, as kafkajs without the driver's repairs does near the end of a session.
      while (Date.now() < expiresMs - 500) await Promise.race([writer.write(), sleep(expiresMs - Date.now())]);
      expect(count(HANDSHAKE) - atFirst).toBeLessThan(25);
      expect(changes).toEqual([]);
      await sleep(expiresMs - Date.now() + 200);
      const writing = writer.write();
      const reason = expect.stringMatching(/^The token for the brokers expired at \S+Z\. Write a new one into \.\/token$/u);
      await expect.poll(() => changes).toEqual([{ available: false, reason, sinceMs: expect.any(Number) }]);
      const [before, from] = [count(HANDSHAKE), new Date()];
      await sleep(2_000);
      // At most 15 per second of a sleep that takes longer on a busy machine.
      const most = ((new Date().getTime() - from.getTime()) / 1_000) * 15;
      expect(count(HANDSHAKE) - before).toBeLessThan(most);
      renew(LONG_MS);
      await writing;
      await writer.write();
      await expect.poll(() => changes.at(-1)).toEqual({ available: true });
      expect(failures).toEqual([]);
      await expect.poll(() => writer.read).toEqual(writer.written);
    } finally {
      await writer.close();
    }
  });

  it('while the log opens is waited for briefly, then reported with the fix', async ({ expect }) => {
    const late = await logWith({ client: 'late', lifetimeMs: -1_000 });
    await sleep(1_000);
    late.renew(LONG_MS);
    await (await late.opening).close();
    const never = await logWith({ client: 'never', lifetimeMs: -1_000 });
    await expect(never.opening).rejects.toThrow(
      /can't be opened: The token for the brokers expired at \S+Z\. Write a new one into \.\/token\.$/u,
    );
    expect(never.count(HANDSHAKE)).toBeLessThan(25);
  });
});
