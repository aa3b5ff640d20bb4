import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { independentSignature, octetEncoded } from './independent-oauth1.fixture.ts';
import { oauth1, type OAuth1Options } from './oauth1.ts';
import { publishedVectors } from './published-vectors.fixture.ts';

const form = 'application/x-www-form-urlencoded';
const request = { method: 'GET', url: 'https://example.com/1.1/list.json?cursor=-1' };
const app = { consumerKey: 'the-consumer-key', consumerSecret: 'the-consumer-secret' };

describe('the header', () => {
  test('names what the service requires, in order, without a token', () => {
    const { authorization } = oauth1({ ...app, nonce: () => 'n', timestamp: () => 1_700_000_000 }).sign(request);
    expect(authorization).toMatch(
      /^OAuth oauth_consumer_key="the-consumer-key", oauth_nonce="n", oauth_signature="[A-Za-z0-9%]+", oauth_signature_method="HMAC-SHA1", oauth_timestamp="1700000000", oauth_version="1.0"$/,
    );
  });

  test('carries no parameter of the request, whatever its name', () => {
    const { authorization } = oauth1(app).sign({ ...request, url: 'http://example.com/?oauth_callback=oob&a=1' });
    expect([...fields(authorization).keys()]).toEqual([
      'oauth_consumer_key',
      'oauth_nonce',
      'oauth_signature',
      'oauth_signature_method',
      'oauth_timestamp',
      'oauth_version',
    ]);
  });

  test('is the published one', () => {
    const vector = publishedVectors.find(({ protocol }) => protocol['oauth_version'] !== undefined);
    const { consumerSecret = '', tokenSecret = '', signature, request: signed = request } = vector ?? {};
    const signer = oauth1({
      consumerKey: 'dpf43f3p2l4k3l03',
      consumerSecret,
      token: 'nnch734d00sl2jdk',
      tokenSecret,
      nonce: () => 'kllo9940pd9333jh',
      timestamp: () => '1191242096',
    });
    expect(fields(signer.sign(signed).authorization).get('oauth_signature')).toBe(signature);
  });

  test.each(['oauth_nonce', 'oauth_signature', 'oauth_version'])('is refused where the request itself holds %s', (name) => {
    const signer = oauth1(app);
    const twice = { method: 'POST', url: 'http://example.com/path', body: `${name}=hidden`, contentType: form };
    expect(() => signer.sign(twice)).toThrow(expect.objectContaining({ name: 'AuthError', code: 'HEADGATE_UNSIGNABLE_REQUEST' }));
    expect(() => signer.sign(twice)).toThrow(
      `Can't sign POST http://example.com/path: its query or form body holds ${name}, which the signer sends in the header. Remove it.`,
    );
  });
});

describe('against a second implementation', () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: fc.constantFrom(...Array.from('a1&=%+ !*\'()~._-"/?#;:@[]{}|^`<>\\\n\t\u0000\u007f\u00e9\u20ac\u{1f600}\ufeff')) }),
    fc.constantFrom('', 'a', 'a b', '__proto__', 'constructor', 'toString', 'length', '0', 'A', 'a%20', '%', '+'),
  );
  const name = text.filter((one) => !one.startsWith('oauth_'));
  const pairs = fc.array(fc.tuple(name, text), { maxLength: 6 });
  const secret = fc.string({ unit: fc.constantFrom(...Array.from("aZ0&=%+ !*'()~\u00e9\u{1f600}")), minLength: 1, maxLength: 12 });
  const written = fc.constantFrom('escaped', 'plus', 'lower');
  const site = fc.constantFrom(
    ['HTTP://EXAMPLE.com:80', 'http://example.com/'],
    ['https://example.COM:443/', 'https://example.com/'],
    ['http://example.com:443/a', 'http://example.com:443/a'],
    ['https://user:pass@127.0.0.1:8443/a//b/%7e', 'https://127.0.0.1:8443/a//b/%7e'],
    ['http://[::1]:80/r%20v/X', 'http://[::1]/r%20v/X'],
  );

  test('every request gets the same signature', () => {
    fc.assert(
      fc.property(
        fc.record({
          method: fc.constantFrom('GET', 'post', 'Put', 'DELETE'),
          site,
          query: pairs,
          body: fc.option(pairs),
          fragment: fc.boolean(),
          written,
          consumerKey: secret,
          consumerSecret: fc.oneof(secret, fc.constant('')),
          token: fc.option(secret),
          tokenSecret: fc.oneof(secret, fc.constant('')),
          nonce: secret,
          timestamp: fc.oneof(fc.nat(), fc.constantFrom('0137131200', '1700000000')),
        }),
        ({ method, site: [url = '', baseUrl = ''], query, body, fragment, written: how, token, ...rest }) => {
          const { consumerKey, consumerSecret, nonce, timestamp } = rest;
          const tokenSecret = token === null ? '' : rest.tokenSecret;
          const signer = oauth1({
            consumerKey,
            consumerSecret,
            ...(token === null ? {} : { token, tokenSecret }),
            nonce: () => nonce,
            timestamp: () => timestamp,
          });
          const { authorization } = signer.sign({
            method,
            url: `${url}${query.length > 0 ? `?${formText(query, how)}` : ''}${fragment ? '#a=b' : ''}`,
            ...(body === null ? {} : { body: formText(body, how), contentType: form }),
          });
          const protocol: [string, string][] = [
            ['oauth_consumer_key', consumerKey],
            ['oauth_nonce', nonce],
            ['oauth_signature_method', 'HMAC-SHA1'],
            ['oauth_timestamp', String(timestamp)],
            ['oauth_version', '1.0'],
            ...(token === null ? [] : [['oauth_token', token] satisfies [string, string]]),
          ];
          const expected = independentSignature({
            method,
            baseUrl,
            parameters: [...query, ...(body ?? []), ...protocol],
            consumerSecret,
            tokenSecret,
          });
          const sent = fields(authorization);
          expect(sent.get('oauth_signature')).toBe(expected);
          sent.delete('oauth_signature');
          expect(Object.fromEntries(sent)).toEqual(Object.fromEntries(protocol));
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe('time', () => {
  test('is ours, in whole seconds, and corrected by the offset last given', () => {
    let nowMs = 1_700_000_000_999;
    const signer = oauth1({ ...app, now: () => nowMs });
    const stamp = (): string | undefined => fields(signer.sign(request).authorization).get('oauth_timestamp');
    expect(stamp()).toBe('1700000000');
    signer.adjustClock?.(60_000);
    signer.adjustClock?.(-10_000);
    expect(stamp()).toBe('1699999990');
    nowMs += 1;
    expect(stamp()).toBe('1699999991');
  });

  test('of one signer is not that of another', () => {
    const [one, other] = [oauth1({ ...app, now: () => 0 }), oauth1({ ...app, now: () => 0 })];
    one.adjustClock?.(5000);
    expect(fields(other.sign(request).authorization).get('oauth_timestamp')).toBe('0');
  });

  test.each([137131200, '137131200', '0137131200'])('that is injected is sent as it is: %j', (timestamp) => {
    const signer = oauth1({ ...app, timestamp: () => timestamp });
    signer.adjustClock?.(1e9);
    expect(fields(signer.sign(request).authorization).get('oauth_timestamp')).toBe(String(timestamp));
  });

  test('is not adjusted by what is no number', () => {
    expect(() => oauth1(app).adjustClock?.(Number.NaN)).toThrow('A clock offset must be a finite number of milliseconds, not NaN.');
  });
});

test('two requests of the same second have different nonces', () => {
  const signer = oauth1({ ...app, now: () => 0 });
  const nonces = Array.from({ length: 100 }, () => fields(signer.sign(request).authorization).get('oauth_nonce'));
  expect(new Set(nonces).size).toBe(100);
  expect(nonces[0]).toMatch(/^[0-9a-f]{32}$/);
});

test('every secret may rotate', () => {
  let generation = 1;
  const secret = (name: string) => () => `${name}-${generation}`;
  const options: OAuth1Options = {
    consumerKey: secret('key'),
    consumerSecret: secret('secret'),
    token: secret('token'),
    tokenSecret: secret('token-secret'),
    nonce: () => 'n',
    timestamp: () => 0,
  };
  const signer = oauth1(options);
  const before = fields(signer.sign(request).authorization);
  generation = 2;
  const after = fields(signer.sign(request).authorization);
  expect([before.get('oauth_consumer_key'), before.get('oauth_token')]).toEqual(['key-1', 'token-1']);
  expect([after.get('oauth_consumer_key'), after.get('oauth_token')]).toEqual(['key-2', 'token-2']);
  const fixed = oauth1({ ...options, consumerSecret: 'secret-2', tokenSecret: 'token-secret-2' });
  expect(after.get('oauth_signature')).toBe(fields(fixed.sign(request).authorization).get('oauth_signature'));
});

test.each<[string, Partial<OAuth1Options>, Partial<OAuth1Options>]>([
  ['a token without its secret signs', { token: 't' }, { token: 't', tokenSecret: '' }],
  ['an empty token secret without a token signs', { tokenSecret: '' }, {}],
])('%s as with an empty one', (_, given, same) => {
  const signed = (options: Partial<OAuth1Options>) => oauth1({ ...app, nonce: () => 'n', timestamp: () => 0, ...options }).sign(request);
  expect(signed(given)).toEqual(signed(same));
});

function fields(authorization: string): Map<string, string> {
  expect(authorization.startsWith('OAuth ')).toBe(true);
  const pairs = authorization.slice('OAuth '.length).split(', ');
  return new Map(
    pairs.map((pair) => {
      const match = /^([a-z_]+)="([^"]*)"$/.exec(pair);
      return [match?.[1] ?? '', decodeURIComponent(match?.[2] ?? '')];
    }),
  );
}

/** Returns the parameters as form text. `how`: `plus` writes spaces as `+`, and `lower` writes escapes in lowercase. */
function formText(parameters: readonly (readonly [string, string])[], how: string): string {
  const write = (one: string): string => {
    const escaped = octetEncoded(one);
    switch (how) {
      case 'plus':
        return escaped.replaceAll('%20', '+');
      case 'lower':
        return escaped.replaceAll(/%../g, (escape) => escape.toLowerCase());
      default:
        return escaped;
    }
  };
  // A parameter without name and value needs an `=`, because parsers skip an empty text between two `&`.
  return parameters.map(([key, value]) => (value === '' && key !== '' ? write(key) : `${write(key)}=${write(value)}`)).join('&');
}
