import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { Deed, ProxiedBroker } from '../faults/proxied-broker.fixture.ts';
import { kafkaTopicLog } from '../index.ts';
import { proxiedSaslBroker } from './proxied-sasl-broker.fixture.ts';
import { PASSWORD, USER } from './secure-broker.fixture.ts';
import { steadyWriter } from './steady-writer.fixture.ts';

const why = await whyNoKafkaBroker();
const because = why === undefined ? '' : ` (skipped: ${why})`;
/** Lifetime of a session. Clients authenticate again 2 s before it ends, which is 1 s after the last time. */
const REAUTHENTICATE_MS = 3_000;
const SASL_AUTHENTICATE = '#36';
/** More cuts than kafkajs makes retries for one connection. */
const CUTS = 12;

describe.skipIf(why !== undefined).concurrent(`a connection lost while it authenticates${because}`, () => {
  let broker: ProxiedBroker;
  beforeAll(async () => {
    broker = await proxiedSaslBroker({ start: startKafkaBroker, reauthenticateMs: REAUTHENTICATE_MS });
  });
  afterAll(() => broker?.close());

  it.for<{ mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; deed: Deed }>([
    { mechanism: 'plain', deed: 'cut request' },
    { mechanism: 'scram-sha-256', deed: 'cut request' },
    { mechanism: 'scram-sha-512', deed: 'cut answer' },
  ])('ends neither a lane, a reader nor a membership: $mechanism, $deed', async ({ mechanism, deed }, { expect }) => {
    const sasl = { mechanism, username: USER, password: PASSWORD };
    const log = await kafkaTopicLog({ brokers: broker.brokers, clientId: mechanism, replication: 1, sasl });
    const writer = await steadyWriter({ log, name: mechanism });
    const failures: unknown[] = [];
    try {
      await log.joinGroup({
        group: mechanism,
        topics: [`records-of-${mechanism}`],
        agreement: 'all',
        onAssigned: () => undefined,
        onUncertain: () => undefined,
        onFailed: (error) => failures.push(error),
      });
      let asked = 0;
      broker.rules.set(mechanism, ({ api }) => {
        if (api === SASL_AUTHENTICATE) asked += 1;
        return api === SASL_AUTHENTICATE && asked <= CUTS ? deed : 'pass';
      });
      for (; asked <= CUTS; await sleep(50)) await writer.write();
      await writer.write();
      await expect.poll(() => writer.read).toEqual(writer.written);
      expect(failures).toEqual([]);
    } finally {
      await writer.close();
    }
  });

  it('a password that is no longer valid ends all three, and each error says who was refused, where and what to do', async ({ expect }) => {
    let password = PASSWORD;
    const sasl = {
      mechanism: 'scram-sha-512',
      username: USER,
      get password() {
        return password;
      },
    } as const;
    await using log = await kafkaTopicLog({ brokers: broker.brokers, clientId: 'renamed', replication: 1, sasl });
    const writer = await steadyWriter({ log, name: 'renamed' });
    const nothing = (): void => undefined;
    const terms = { group: 'renamed', topics: ['records-of-renamed'], agreement: 'all', onAssigned: nothing, onUncertain: nothing };
    const { promise: membershipEnded, resolve: onFailed } = Promise.withResolvers<unknown>();
    await log.joinGroup({ ...terms, onFailed });
    await writer.write();
    password = 'not-the-one';
    const failures = await Promise.all([firstFailure(writer.write), membershipEnded, writer.readerEnded]);
    // The text of the reason depends on when the password changed. If it changed in the middle of an exchange, the client finds that the broker
    // doesn't know the password.
    for (const failure of failures) {
      expect(failure).toMatchObject({ code: 'HEADGATE_KAFKA_CREDENTIALS_REFUSED', retryable: false });
      expect(String(failure)).toMatch(
        /Broker \S+:\d+ rejected user "alice" \(scram-sha-512\): \S.*\S\. Check the name and password \(sasl\)\. The password may have changed/u,
      );
      expect(inspect(failure, { depth: null, showHidden: true })).not.toContain('not-the-one');
    }
  });
});

async function firstFailure(call: () => Promise<void>): Promise<unknown> {
  try {
    for (; ; await sleep(100)) await call();
  } catch (error) {
    return error;
  }
}
