import { createRequire } from 'node:module';
import { inspect } from 'node:util';
import type { AuthenticationProviderArgs } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { verdictOf } from '../client/driver-errors.ts';
import { kafkajsAuthentication } from './kafkajs-authentication.ts';
import type { KafkaPasswordOptions } from './kafkajs-authentication.ts';

const require = createRequire(import.meta.url);
const errors = require('kafkajs/src/errors') as Readonly<Record<string, new (message: string) => Error>>;
const { createErrorFromCode } = require('kafkajs/src/protocol/error') as { readonly createErrorFromCode: (code: number) => Error };
const answered = (code: number) => (): never => {
  throw createErrorFromCode(code);
};
const lost = (name: string) => (): never => {
  throw new (errors[name] ?? Error)('lost');
};
const quiet = { debug: () => undefined, error: () => undefined } as unknown as AuthenticationProviderArgs['logger'];

/** Returns a broker's response to the message that the client has sent. */
type Answer = (sent: string) => string;

async function fault(mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512', ...answers: readonly Answer[]): Promise<Error> {
  const left = [...answers];
  const sasl: KafkaPasswordOptions = { mechanism, username: 'alice', password: 'wonder-land' };
  const saslAuthenticate: AuthenticationProviderArgs['saslAuthenticate'] = async ({ request, response }) => {
    const answer = Buffer.from(left.shift()?.((await request.encode()).toString()) ?? '');
    const size = Buffer.alloc(4);
    size.writeInt32BE(answer.length);
    return response?.parse(await response.decode(Buffer.concat([size, answer])));
  };
  const authenticator = kafkajsAuthentication(sasl)?.({ host: 'broker', port: 9092, logger: quiet, saslAuthenticate });
  const error: unknown = await authenticator?.authenticate().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Error)) throw new Error('It was let in.');
  expect(inspect(error, { depth: null, showHidden: true })).not.toContain('wonder-land');
  return error;
}

const challenge: Answer = (sent) => `r=${/r=(.*)$/u.exec(sent)?.[1]}-server,s=c2FsdA==,i=4096`;

describe.each(['plain', 'scram-sha-256', 'scram-sha-512'] as const)('%s', (mechanism) => {
  it.each(['KafkaJSConnectionClosedError', 'KafkaJSConnectionError', 'KafkaJSRequestTimeoutError'])('%s is temporary', async (name) => {
    const error = await fault(mechanism, lost(name));
    expect(error).toMatchObject({ name, message: 'lost', retriable: true });
    expect(verdictOf(error)).toBe('passes');
  });

  it('a refusal is final', async () => {
    const error = await fault(mechanism, answered(58));
    expect(error.message).toBe(
      `Broker broker:9092 rejected user "alice" (${mechanism}): SASL Authentication failed. ` +
        'Check the name and password (sasl). The password may have changed, or the user may have been deleted.',
    );
    expect(verdictOf(error)).toBe('final');
  });

  // After a timeout, kafkajs begins again on the same connection, although the broker is still in the middle of the first exchange.
  it('a request out of order is temporary', async () => expect(verdictOf(await fault(mechanism, answered(34)))).toBe('passes'));
});

describe.each(['scram-sha-256', 'scram-sha-512'] as const)('%s', (mechanism) => {
  it('a broker that doesn’t know the password is a final error', async () => {
    const error = await fault(mechanism, challenge, () => 'v=bm90IGl0');
    expect(error.message).toContain('Invalid server signature');
    expect(verdictOf(error)).toBe('final');
  });

  it('a connection lost after the challenge is temporary', async () =>
    expect(verdictOf(await fault(mechanism, challenge, lost('KafkaJSConnectionClosedError')))).toBe('passes'));
});

it('an unknown mechanism is refused', () =>
  expect(() => kafkajsAuthentication({ mechanism: 'other' as 'plain', username: 'u', password: 'p' })).toThrow(
    /"other" isn't supported\. Use plain,/u,
  ));
