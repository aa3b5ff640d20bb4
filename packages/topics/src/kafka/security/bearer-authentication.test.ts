import { describe, expect, it } from 'vitest';
import { type BearerToken, bearerAuthentication } from './bearer-authentication.ts';
import { unsecuredToken } from './unsecured-token.fixture.ts';

interface Exchange {
  /** The client's messages. */
  readonly sent: readonly string[];
  readonly error: unknown;
}

/** Authenticates with brokers that give these answers in turn. */
async function exchange(token: string, answers: readonly (string | Error)[]): Promise<Exchange> {
  const [done] = await exchanges([{ value: token }], answers);
  return done ?? { sent: [], error: undefined };
}

/** Like `exchange`, with one token after another. */
async function exchanges(tokens: readonly BearerToken[], answers: readonly (string | Error)[]): Promise<readonly Exchange[]> {
  let sent: string[] = [];
  const left = [...answers];
  const send = async (message: Buffer): Promise<Buffer> => {
    sent.push(message.toString());
    const answer = left.shift();
    if (answer instanceof Error) throw answer;
    return await Promise.resolve(Buffer.from(answer ?? ''));
  };
  const given = [...tokens];
  const authentication = bearerAuthentication(async () => given.shift() ?? { value: '' });
  const done: Exchange[] = [];
  for (const _ of tokens) {
    const error = await authentication(send, 'broker:9092').catch((thrown: unknown) => thrown);
    done.push({ error, sent });
    sent = [];
  }
  return done;
}

it('the token is sent once, and an empty response accepts it', async () => {
  expect(await exchange('a.b.c', [''])).toEqual({ error: undefined, sent: ['n,,\u0001auth=Bearer a.b.c\u0001\u0001'] });
});

it('a refusal is acknowledged, and only its status is reported', async () => {
  const refusal = '{"status":"invalid_token","scope":"a.b.c"}';
  const { sent, error } = await exchange('a.b.c', [refusal, new Error('Authentication failed')]);
  expect(sent[1]).toBe('\u0001');
  expect(error).toMatchObject({
    code: 'HEADGATE_KAFKA_TOKEN_REFUSED',
    message: 'The brokers rejected the token (OAUTHBEARER): invalid_token',
  });
});

it('the error says when a refused token expired', async () => {
  const { error } = await exchange(unsecuredToken({ subject: 'alice', lifetimeMs: -1000 }), ['{"status":"invalid_token"}', '']);
  expect(error).toMatchObject({
    message: expect.stringMatching(/invalid_token; it expired at \d{4}-\d\d-\d\dT[\d:.]+Z\. Start again with a new one$/),
  });
});

it('a refusal that isn’t JSON is a refusal', async () => {
  const { error } = await exchange('a.b.c', ['no', '']);
  expect(error).toMatchObject({ message: 'The brokers rejected the token (OAUTHBEARER): without a status' });
});

it.each(['', 'a b', 'a\u0001auth=Bearer b', 'a\n'])('never sends %j, which is no token', async (token) => {
  const { sent, error } = await exchange(token, ['']);
  expect(sent).toEqual([]);
  expect(error).toMatchObject({ message: 'The token for the brokers is empty, or has a character that is invalid in tokens' });
});

describe('a fresh token is waited for if one will come', () => {
  const renewedIn = './token';
  const REFUSAL = '{"status":"invalid_token"}';
  const isWaitedFor = { name: 'StaleTokenError', retryable: true, message: expect.stringMatching(/\. Write a new one into \.\/token$/) };

  it('when one has expired; it isn’t sent to the brokers', async () => {
    const value = unsecuredToken({ subject: 'alice', lifetimeMs: -1_000 });
    expect(await exchanges([{ value, renewedIn }], [])).toMatchObject([{ sent: [], error: isWaitedFor }]);
  });

  it('when one that will soon expire is refused: their clock may be ahead', async () => {
    const value = unsecuredToken({ subject: 'alice', lifetimeMs: 5_000 });
    expect(await exchanges([{ value, renewedIn }], [REFUSAL, ''])).toMatchObject([{ error: isWaitedFor }]);
  });

  it('when one is refused that the brokers had accepted; it isn’t sent again', async () => {
    const token = { value: 'a.b.c', renewedIn };
    const [first, second, third, fourth] = await exchanges([token, token, token, { ...token, value: 'd.e.f' }], ['', REFUSAL, '', '']);
    expect([first?.error, second?.error, third]).toMatchObject([undefined, isWaitedFor, { sent: [], error: isWaitedFor }]);
    expect(fourth).toMatchObject({ sent: [expect.stringContaining('d.e.f')], error: undefined });
  });

  it('but not when the first one is refused and is valid for long', async () => {
    const value = unsecuredToken({ subject: 'alice', lifetimeMs: 3_600_000 });
    expect(await exchanges([{ value, renewedIn }], [REFUSAL, ''])).toMatchObject([{ error: { code: 'HEADGATE_KAFKA_TOKEN_REFUSED' } }]);
  });
});
