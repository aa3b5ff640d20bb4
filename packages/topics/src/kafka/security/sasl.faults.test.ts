import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';
import { type KafkaBroker, startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KafkaSaslOptions } from './authentication.ts';
import { roundTrip } from './round-trip.fixture.ts';
import { PASSWORD, USER, addScramUser, saslBrokerOptions } from './secure-broker.fixture.ts';
import { refusal, secureLog } from './secure-log.fixture.ts';
import { steadyWriter } from './steady-writer.fixture.ts';
import { unsecuredToken } from './unsecured-token.fixture.ts';

const why = await whyNoKafkaBroker();
const PASSWORD_MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512'] as const;
/** Lifetime of a session on the listener SHORT. Clients authenticate again 2 s before it ends. */
const REAUTHENTICATE_MS = 11_500;

function byPassword(mechanism: (typeof PASSWORD_MECHANISMS)[number], password = PASSWORD): KafkaSaslOptions {
  return { mechanism, username: USER, password };
}

function byToken(token: () => string): KafkaSaslOptions {
  return { mechanism: 'oauthbearer', oauthBearerProvider: async () => ({ value: token() }) };
}

describe.skipIf(why !== undefined)(`the Kafka driver over SASL${why === undefined ? '' : `: skipped, ${why}`}`, () => {
  let broker: KafkaBroker;
  beforeAll(async () => {
    broker = await startKafkaBroker(saslBrokerOptions({ reauthenticateMs: REAUTHENTICATE_MS }));
    await addScramUser(broker);
  });
  afterAll(() => broker?.close());

  it.each([
    ...PASSWORD_MECHANISMS.map((mechanism) => byPassword(mechanism)),
    byToken(() => unsecuredToken({ subject: USER, lifetimeMs: 60_000 })),
  ])('writes and reads as $mechanism', async (sasl) => {
    await using log = await secureLog({ broker, listener: 'OPEN', sasl });
    expect(await roundTrip(log)).toEqual({ values: ['written'], state: '1' });
  });

  it.each([
    { mechanism: 'plain', says: 'Authentication failed: Invalid username or password' },
    { mechanism: 'scram-sha-256', says: 'invalid credentials with SASL mechanism SCRAM-SHA-256' },
    { mechanism: 'scram-sha-512', says: 'invalid credentials with SASL mechanism SCRAM-SHA-512' },
  ] as const)('a wrong password is reported without its text: $mechanism', async ({ mechanism, says }) => {
    const { message, printed } = await refusal({ broker, listener: 'OPEN', sasl: byPassword(mechanism, 'not-the-one') });
    expect(message).toContain(says);
    expect(message).toMatch(/can't be opened: Broker \S+ rejected user "alice" .* Check the name and password \(sasl\)\. .*deleted\.$/u);
    expect(printed).not.toContain('not-the-one');
  });

  it('a listener without authentication is reported', async () => {
    const nodes = [{ addresses: { OWN: broker.brokers[0] ?? '' } }];
    const { message } = await refusal({ broker: { nodes }, listener: 'OWN', sasl: byPassword('plain') });
    expect(message).toContain('ILLEGAL_SASL_STATE');
  });

  it('an expired token is reported without its text', async () => {
    const token = unsecuredToken({ subject: USER, lifetimeMs: -60_000 });
    const { message, printed } = await refusal({ broker, listener: 'OPEN', sasl: byToken(() => token) });
    expect(message).toMatch(/The brokers rejected the token \(OAUTHBEARER\): invalid_token; it expired at \d{4}-/);
    expect(printed).not.toContain(token.split('.')[1]);
  });

  it('a failing token provider is reported with the reason', async () => {
    const sasl = byToken(() => {
      throw new Error('token file is gone');
    });
    expect((await refusal({ broker, listener: 'OPEN', sasl })).message).toContain('token file is gone');
  });

  it('continues on the same connections when brokers require authentication again', async () => {
    await using connections = countConnections();
    const tokens: string[] = [];
    const token = (): string => {
      tokens.push(unsecuredToken({ subject: USER, lifetimeMs: 60_000 }));
      return tokens.at(-1) ?? '';
    };
    const changes: unknown[] = [];
    const onAvailability = (change: unknown): unknown => changes.push(change);
    const writers = await Promise.all(
      [byPassword('plain'), byPassword('scram-sha-512'), byToken(token)].map(async (sasl) =>
        steadyWriter({ name: sasl.mechanism, log: await secureLog({ broker, listener: 'SHORT', sasl, onAvailability }) }),
      ),
    );
    try {
      await Promise.all(writers.map((writer) => writer.write()));
      const [connectionsAtFirst, tokensAtFirst] = [connections.count(), tokens.length];
      // Longer than a session, after which the broker closes a connection that hasn't authenticated again.
      const endMs = performance.now() + REAUTHENTICATE_MS + 1_500;
      for (; performance.now() < endMs; await sleep(100)) await Promise.all(writers.map((writer) => writer.write()));
      for (const { read, written } of writers) await expect.poll(() => read).toEqual(written);
      expect(tokens.length).toBeGreaterThan(tokensAtFirst);
      // On a busy machine, a session may be renewed too late. Without renewals, each writer would reconnect.
      expect(connections.count() - connectionsAtFirst).toBeLessThanOrEqual(2);
      expect(changes).toEqual([]);
    } finally {
      await Promise.all(writers.map((writer) => writer.close()));
    }
  });
});

function countConnections(): { readonly count: () => number } & AsyncDisposable {
  let count = 0;
  const made = (): void => {
    count += 1;
  };
  subscribe('net.client.socket', made);
  return {
    count: () => count,
    [Symbol.asyncDispose]: async () => void unsubscribe('net.client.socket', made),
  };
}
