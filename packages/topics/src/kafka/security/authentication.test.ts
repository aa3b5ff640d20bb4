import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { answeredError } from '../client/answered-error.ts';
import { ConnectionError } from '../client/connection-error.ts';
import { passes } from '../client/driver-errors.ts';
import { type KafkaPasswordOptions, authenticationOf } from './authentication.ts';
import { scram } from './scram.ts';

const answered = (code: number) => (): never => {
  throw answeredError(code);
};
const lost = (): never => {
  throw new ConnectionError('broker:9092', new Error('lost'));
};

/** Returns a broker's response to the message that the client has sent. */
type Answer = (sent: string) => string;

async function fault(mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512', ...answers: readonly Answer[]): Promise<Error> {
  const left = [...answers];
  const sasl: KafkaPasswordOptions = { mechanism, username: 'alice', password: 'wonder-land' };
  const exchange = async (message: Buffer): Promise<Buffer> => await Promise.resolve(Buffer.from(left.shift()?.(message.toString()) ?? ''));
  const error: unknown = await authenticationOf(sasl)
    .authenticate(exchange, 'broker:9092')
    .then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
  if (!(error instanceof Error)) throw new Error('It was let in.');
  expect(inspect(error, { depth: null, showHidden: true })).not.toContain('wonder-land');
  return error;
}

const challenge: Answer = (sent) => `r=${/r=(.*)$/u.exec(sent)?.[1]}-server,s=c2FsdA==,i=4096`;

describe.each(['plain', 'scram-sha-256', 'scram-sha-512'] as const)('%s', (mechanism) => {
  it('a lost connection is temporary', async () => {
    const error = await fault(mechanism, lost);
    expect(error).toMatchObject({ name: 'ConnectionError', message: 'lost' });
    expect(passes(error)).toBe(true);
  });

  it('a refusal is final', async () => {
    const error = await fault(mechanism, answered(58));
    expect(error.message).toBe(
      `Broker broker:9092 rejected user "alice" (${mechanism}): SASL Authentication failed. ` +
        'Check the name and password (sasl). The password may have changed, or the user may have been deleted.',
    );
    expect(passes(error)).toBe(false);
  });

  it('a request out of order is temporary', async () => expect(passes(await fault(mechanism, answered(34)))).toBe(true));
});

describe.each(['scram-sha-256', 'scram-sha-512'] as const)('%s', (mechanism) => {
  it('a broker that doesn’t know the password is a final error', async () => {
    const error = await fault(mechanism, challenge, () => 'v=bm90IGl0');
    expect(error.message).toContain('Invalid server signature');
    expect(passes(error)).toBe(false);
  });

  it('a broker that only knows how long a signature is, is a final error', async () => {
    const signature = Buffer.alloc(mechanism === 'scram-sha-256' ? 32 : 64).toString('base64');
    const error = await fault(mechanism, challenge, () => `v=${signature}`);
    expect(error.message).toContain('Invalid server signature');
    expect(passes(error)).toBe(false);
  });

  it('a connection lost after the challenge is temporary', async () => expect(passes(await fault(mechanism, challenge, lost))).toBe(true));
});

describe.each([
  [
    'scram-sha-256',
    'rOprNGfwEbeRWgbNEkqO',
    '%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0',
    'W22ZaJ0SNY7soEsUEjb6gQ==',
    'dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=',
    '6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=',
  ],
] as const)('%s as in RFC 7677', (mechanism, nonce, server, salt, proof, signature) => {
  it('sends the proof of the example, and accepts its signature', async () => {
    const sent: string[] = [];
    const answers = [`r=${nonce}${server},s=${salt},i=4096`, `v=${signature}`];
    await scram({ mechanism, username: 'user', password: 'pencil', nonce }, async (message) => {
      sent.push(message.toString());
      return await Promise.resolve(Buffer.from(answers.shift() ?? ''));
    });
    expect(sent).toEqual([`n,,n=user,r=${nonce}`, `c=biws,r=${nonce}${server},p=${proof}`]);
  });

  it.each([
    ['another nonce', `r=x${nonce}${server},s=${salt},i=4096`, 'Invalid server nonce'],
    ["only the client's nonce", `r=${nonce},s=${salt},i=4096`, 'Invalid server nonce'],
    ['too few iterations', `r=${nonce}${server},s=${salt},i=4095`, 'at least 4096'],
    ['no number of iterations', `r=${nonce}${server},s=${salt}`, 'at least 4096'],
    ['iterations that are no number', `r=${nonce}${server},s=${salt},i=x`, 'at least 4096'],
  ])('refuses a challenge with %s', async (_, answer, says) => {
    await expect(
      scram({ mechanism, username: 'user', password: 'pencil', nonce }, () => Promise.resolve(Buffer.from(answer))),
    ).rejects.toThrow(says);
  });

  it('escapes commas and equals signs in the name', async () => {
    const sent: string[] = [];
    const ended = scram({ mechanism, username: 'a=b,c', password: 'pencil', nonce }, (message) => {
      sent.push(message.toString());
      return Promise.reject(new Error('enough'));
    });
    await expect(ended).rejects.toThrow('enough');
    expect(sent).toEqual([`n,,n=a=3Db=2Cc,r=${nonce}`]);
  });
});

it('an unknown mechanism is refused', () =>
  expect(() => authenticationOf({ mechanism: 'other' as 'plain', username: 'u', password: 'p' })).toThrow(
    /"other" isn't supported\. Use plain,/u,
  ));
