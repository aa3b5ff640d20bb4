import { expect, test } from 'vitest';

import { hasValidSignature, parseOAuthHeader, signatureBaseString } from './oauth-verify.ts';

// The example of RFC 5849, section 3.4.1.1, with the signature as corrected by erratum 2550.
const example = {
  method: 'POST',
  url: 'http://EXAMPLE.COM:80/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b',
  authorization: [
    'OAuth realm="Example"',
    'oauth_consumer_key="9djdj82h48djs9d2"',
    'oauth_token="kkk9d7dh3k39sjv7"',
    'oauth_signature_method="HMAC-SHA1"',
    'oauth_timestamp="137131201"',
    'oauth_nonce="7d8f3e4a"',
    'oauth_signature="r6%2FTJjbCOr97%2F%2BUU0NsvSne7s5g%3D"',
  ].join(',\n    '),
  contentType: 'application/x-www-form-urlencoded',
  body: 'c2&a3=2+q',
};
const secrets = { consumerSecret: 'j49sk3j29djd', tokenSecret: 'dh893hdasih9' };

test('the base string is the one RFC 5849 gives', () => {
  expect(signatureBaseString(example)).toBe(
    'POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26c%2540%3D%26c2%3D%26' +
      'oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_method%3DHMAC-SHA1%26' +
      'oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7',
  );
});

test('the signature published for it is accepted', () => {
  expect(hasValidSignature(example, secrets)).toBe(true);
});

test.each([
  ['another method', { method: 'GET' }],
  ['another path', { url: example.url.replace('/request', '/requests') }],
  ['another port', { url: example.url.replace(':80', ':8080') }],
  ['another value in the query', { url: example.url.replace('a3=a', 'a3=b') }],
  ['another value in the body', { body: 'c2&a3=2+r' }],
  ['the body not taken for a form', { contentType: 'application/json' }],
  ['another nonce', { authorization: example.authorization.replace('7d8f3e4a', '7d8f3e4b') }],
  ['another method of signing', { authorization: example.authorization.replace('HMAC-SHA1', 'PLAINTEXT') }],
  ['no signature', { authorization: example.authorization.replace('oauth_signature=', 'signature=') }],
  ['a malformed escape in the query', { url: `${example.url}&x=%zz` }],
])('%s is refused', (_, change) => {
  expect(hasValidSignature({ ...example, ...change }, secrets)).toBe(false);
});

test.each([
  ['consumer secret', { ...secrets, consumerSecret: '' }],
  ['token secret', { consumerSecret: secrets.consumerSecret }],
])('another %s is refused', (_, others) => {
  expect(hasValidSignature(example, others)).toBe(false);
});

test.each(['', 'Bearer abc', 'OAuth', 'OAuth a=b', 'OAuth a="%zz"', 'OAuth a="1", a="2"'])('%j is no OAuth header', (header) => {
  expect(parseOAuthHeader(header)).toBeUndefined();
});
