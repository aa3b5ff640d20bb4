import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { apiKey, type ApiKeyPlace } from './api-key.ts';
import { bearer } from './bearer.ts';
import { oauth1 } from './oauth1.ts';
import type { Signer } from './signer.ts';

const request = { method: 'GET', url: 'https://example.com/' };
/** Plain JavaScript isn't checked against the types, and neither is an environment variable that isn't set. */
const untyped = { bearer, apiKey, oauth1 } as unknown as Record<'bearer' | 'apiKey' | 'oauth1', (...given: readonly unknown[]) => Signer>;
const makers: [string, (secret: unknown) => Signer][] = [
  ['token of the bearer signer', (secret) => untyped.bearer(secret)],
  ['key of the apiKey signer', (secret) => untyped.apiKey(secret)],
  ['key of the apiKey signer', (secret) => untyped.apiKey(secret, { query: 'key' })],
  ['consumerKey of the oauth1 signer', (consumerKey) => untyped.oauth1({ consumerKey, consumerSecret: '' })],
  ['consumerSecret of the oauth1 signer', (consumerSecret) => untyped.oauth1({ consumerKey: 'k', consumerSecret })],
  ['token of the oauth1 signer', (token) => untyped.oauth1({ consumerKey: 'k', consumerSecret: '', token })],
  ['tokenSecret of the oauth1 signer', (tokenSecret) => untyped.oauth1({ consumerKey: 'k', consumerSecret: '', token: 't', tokenSecret })],
];

describe.each(makers)('the %s', (name, make) => {
  test.each([
    ['undefined', () => undefined],
    ['null', () => null],
    ['of type number', () => 48],
    ['of type object', () => ({ file: 'hunter2' })],
    ['a promise: await it first', () => Promise.reject(new Error('hunter2'))],
  ])('is refused at creation if it is %s', (kind, secret) => {
    const error = thrown(() => make(secret()));
    expect(error).toMatchObject({ name: 'AuthError', code: 'HEADGATE_INVALID_SECRET', retryable: false });
    expect(String(error)).toBe(
      `AuthError: The ${name} is not text but ${kind}. Check where it is configured, for example whether its environment variable is set.`,
    );
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain('hunter2');
  });
});

test('a tokenSecret without a token is refused, also as a function', () => {
  for (const tokenSecret of ['s', () => 's', null]) {
    expect(() => untyped.oauth1({ consumerKey: 'k', consumerSecret: 's', tokenSecret })).toThrow(/tokenSecret of the oauth1 signer /);
  }
});

test('a place without a name is refused', () => {
  const places: unknown[] = [{}, null, { header: undefined }, { query: undefined }, { query: '' }, { body: 7 }, { body: '' }];
  for (const place of places) expect(() => apiKey('key', place as ApiKeyPlace)).toThrow(TypeError);
});

test.each([
  ['timestamp', () => Number.NaN, 'NaN'],
  ['timestamp', () => -1, '-1'],
  ['timestamp', () => 0.5, '0.5'],
  ['timestamp', () => undefined, 'undefined'],
  ['now', () => Number.NaN, 'NaN'],
])('a %s that returns no time can sign nothing: %#', (name, time, shown) => {
  const signer = untyped.oauth1({ consumerKey: 'k', consumerSecret: 's', [name]: time });
  expect(() => signer.sign(request)).toThrow(
    expect.objectContaining({
      code: 'HEADGATE_UNSIGNABLE_REQUEST',
      message: `Can't sign GET https://example.com/: its timestamp is ${shown}. Return whole seconds since 1970 from timestamp, or milliseconds from now.`,
    }),
  );
});

test('a function may return any thenable', async () => {
  expect(await bearer(() => promiseLike(Promise.resolve('later'))).sign(request)).toEqual({ authorization: 'Bearer later' });
  const refusing = promiseLike(Promise.reject<string>(new Error('hunter2')));
  const error: unknown = await Promise.resolve(bearer(() => refusing).sign(request)).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'HEADGATE_SECRET_UNAVAILABLE' });
  expect(inspect(error, { depth: 20, showHidden: true })).not.toContain('hunter2');
});

function thrown(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error('Nothing was thrown.');
}

/** A promise of another library: not a `Promise`, and without its `catch`. */
function promiseLike<T>(promise: Promise<T>): PromiseLike<T> {
  // oxlint-disable-next-line unicorn/no-thenable -- that is what the test is about.
  return { then: promise.then.bind(promise) };
}
