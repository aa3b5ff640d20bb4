import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { apiKey } from './api-key.ts';
import { bearer } from './bearer.ts';
import { oauth1 } from './oauth1.ts';
import type { AuthorizationSigner, Secret } from './signer.ts';

const request = { method: 'GET', url: 'https://example.com/' };
const makers: [name: string, make: (secret: Secret) => AuthorizationSigner][] = [
  ['The token of the bearer signer', (secret) => bearer(secret)],
  ['The key of the apiKey signer', (secret) => apiKey(secret)],
  ['The consumerKey of the oauth1 signer', (secret) => oauth1({ consumerKey: secret, consumerSecret: '' })],
  ['The consumerSecret of the oauth1 signer', (secret) => oauth1({ consumerKey: 'k', consumerSecret: secret })],
  ['The token of the oauth1 signer', (secret) => oauth1({ consumerKey: 'k', consumerSecret: '', token: secret })],
  ['The tokenSecret of the oauth1 signer', (secret) => oauth1({ consumerKey: 'k', consumerSecret: '', token: 't', tokenSecret: secret })],
];

describe.each(makers)('%s', (name, make) => {
  test.each([
    ['text', 'hunter2'],
    ['a function', () => 'hunter2'],
  ])('given as %s shows nowhere', (_, secret) => {
    const signer = make(secret);
    signer.sign(request);
    signer.adjustClock?.(1000);
    const deep = { showHidden: true, depth: 20, getters: true };
    const shown = [inspect(signer), inspect({ a: [signer] }, deep), JSON.stringify({ signer }), inspect({ ...signer }, deep)];
    expect(shown.join('\n')).not.toContain('hunter2');
    expect(shown[0]).toMatch(/^\[(bearer|apiKey|oauth1) signer\]$/);
    expect(shown[2]).toMatch(/^\{"signer":\{"signer":"(bearer|apiKey|oauth1)"\}\}$/);
  });

  test.each(['hunter2\n', 'hunter2\r\nX-Evil: 1', '\u0000hunter2', 'hunter2\u007f'])(
    'is refused with a control character, unquoted (%#)',
    (secret) => {
      for (const refuse of [() => make(secret), () => make(() => secret).sign(request)]) {
        const error = thrown(refuse);
        expect(error).toMatchObject({ name: 'AuthError', code: 'HEADGATE_INVALID_SECRET', retryable: false });
        expect(error).toMatchObject({ code: 'HEADGATE_INVALID_SECRET', retryable: false });
        expect(inspect(error, { depth: 20, showHidden: true })).not.toMatch(/hunter2|Evil/);
        expect(String(error)).toContain(`${name} contains a control character`);
      }
    },
  );

  test('is not named by what its function throws', () => {
    const signer = make(() => {
      throw new Error('no such secret: hunter2');
    });
    const error = thrown(() => signer.sign(request));
    expect(error).toMatchObject({ name: 'AuthError', code: 'HEADGATE_SECRET_UNAVAILABLE', retryable: true });
    expect(error).toMatchObject({ code: 'HEADGATE_SECRET_UNAVAILABLE', retryable: true });
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain('hunter2');
    expect(String(error)).toContain(name.slice('The '.length));
  });

  test('is refused when it is no text', () => {
    const noText: [unknown, string][] = [
      [undefined, 'is not text but undefined'],
      [null, 'is not text but null'],
      [7, 'is not text but of type number'],
    ];
    for (const [value, message] of noText) {
      // TypeScript forbids such a value, but a caller in plain JavaScript can return it.
      expect(() => make((() => value) as Secret).sign(request)).toThrow(message);
    }
  });

  test('that is empty is refused, unless it is a shared secret of OAuth', () => {
    const mayBeEmpty = /consumerSecret|tokenSecret/.test(name);
    const outcomes = [() => make('').sign(request), () => make(() => '').sign(request)].map((sign) => {
      try {
        return sign().authorization.split(' ')[0];
      } catch (error) {
        return String(error);
      }
    });
    const expected = mayBeEmpty
      ? 'OAuth'
      : `AuthError: ${name} is empty. Check where it is configured, for example whether its environment variable is set.`;
    expect(outcomes).toEqual([expected, expected]);
  });
});

test.each([bearer, apiKey])('a secret a header would change is refused', (make) => {
  expect(() => make(' hunter2')).toThrow('begins or ends with a space');
  expect(() => make('hunter\u20ac')).toThrow('beyond ASCII');
});

test('the secrets of a signature are given at once: a promise is refused', () => {
  for (const name of ['consumerKey', 'consumerSecret', 'token', 'tokenSecret']) {
    const options = { consumerKey: 'k', consumerSecret: '', token: 't', [name]: () => Promise.reject(new Error('hunter2')) };
    expect(() => oauth1(options).sign(request)).toThrow('is not text but a promise: the function must be synchronous');
  }
});

test('half a surrogate pair is refused in every secret of a signature, unquoted', () => {
  for (const name of ['consumerKey', 'consumerSecret', 'token', 'tokenSecret']) {
    const options = { consumerKey: 'k', consumerSecret: '', token: 't', [name]: 'hunter2\ud83d' };
    const error = thrown(() => oauth1(options));
    expect(error).toMatchObject({ code: 'HEADGATE_INVALID_SECRET' });
    expect(String(error)).toContain(`The ${name} of the oauth1 signer contains half a surrogate pair`);
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain('hunter2');
  }
});

test('a token secret wants a token', () => {
  expect(() => oauth1({ consumerKey: 'k', consumerSecret: 's', tokenSecret: 'hunter2' })).toThrow('was given without a token');
});

test('the request shows no more than method, host and path in an error', () => {
  const signer = oauth1({ consumerKey: 'k', consumerSecret: 's' });
  const error = thrown(() => signer.sign({ method: 'GET', url: 'https://user:hunter2@example.com/path?key=hunter2&bad=%FF' }));
  expect(inspect(error, { depth: 20, showHidden: true })).not.toContain('hunter2');
  expect(String(error)).toContain('GET https://example.com/path');
});

function thrown(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error('Nothing was thrown.');
}
