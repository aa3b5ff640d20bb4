import { describe, expect, test } from 'vitest';
import { oauth1BaseString, oauth1Header } from './oauth1-header.ts';
import { publishedEncodings, publishedNormalisations, publishedVectors } from './published-vectors.fixture.ts';
import { signedParts } from './signed-parts.ts';

describe('published signatures', () => {
  test.each(publishedVectors)('$from', ({ request, protocol, signature, baseString, ...secrets }) => {
    const parts = signedParts(request);
    expect(oauth1Header(parts, protocol, secrets)).toContain(`oauth_signature="${encodeURIComponent(signature)}"`);
    const signed = oauth1BaseString(parts, protocol);
    expect(signed).toBe(baseString ?? signed);
  });
});

describe('published test cases', () => {
  test.each(publishedEncodings)('encodes %j', (text, encoded) => {
    const url = `http://example.com/?n=${encodeURIComponent(text)}`;
    expect(normalised(url)).toBe(`n=${encoded}`);
  });

  test.each(publishedNormalisations)('normalises %s', (form, expected) => {
    expect(normalised(`http://example.com/?${form}`)).toBe(expected);
  });
});

test('a protocol parameter is encoded in the header and sorted among the others', () => {
  const parts = signedParts({ method: 'GET', url: 'http://example.com/' });
  expect(oauth1Header(parts, { oauth_token: 'b "/', oauth_nonce: 'ä' }, { consumerSecret: 'c', tokenSecret: 't' })).toMatch(
    /^OAuth oauth_nonce="%C3%A4", oauth_signature="[A-Za-z0-9%]+", oauth_token="b%20%22%2F"$/,
  );
});

function normalised(url: string): string {
  const text = oauth1BaseString(signedParts({ method: 'GET', url }), {});
  return decodeURIComponent(text.slice(text.lastIndexOf('&') + 1));
}
