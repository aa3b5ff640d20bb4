import { describe, expect, test } from 'vitest';
import { signedParts } from './signed-parts.ts';

const form = 'application/x-www-form-urlencoded';

describe('the base string URI (RFC 5849, section 3.4.1.2)', () => {
  test.each([
    ['http://EXAMPLE.COM:80/r%20v/X?id=123', 'http://example.com/r%20v/X'],
    ['https://www.example.net:8080/?q=1', 'https://www.example.net:8080/'],
    ['HTTPS://Example.Com:443', 'https://example.com/'],
    ['http://example.com:443/a', 'http://example.com:443/a'],
    ['https://example.com:80/a', 'https://example.com:80/a'],
    ['http://example.com?a=1', 'http://example.com/'],
    ['http://example.com/a#fragment?b=2', 'http://example.com/a'],
    ['http://user:secret@example.com/Path', 'http://example.com/Path'],
    ['http://127.0.0.1:8080/%7Ea/b%2Fc', 'http://127.0.0.1:8080/%7Ea/b%2Fc'],
    ['http://[::1]:80/', 'http://[::1]/'],
    ['http://bücher.example.com/ä', 'http://xn--bcher-kva.example.com/%C3%A4'],
  ])('%s', (url, expected) => {
    expect(signedParts({ method: 'GET', url }).url).toBe(expected);
  });

  test.each(['/relative', 'ftp://example.com/', '', 'http://'])('refuses %j', (url) => {
    expect(() => signedParts({ method: 'get', url })).toThrow("Can't sign a GET request: its URL is not an absolute http or https URL.");
  });
});

describe('the parameters (RFC 5849, section 3.4.1.3)', () => {
  test('are those of query and form body together, every value of a name', () => {
    const { parameters } = signedParts({
      method: 'POST',
      url: 'http://example.com/?b5=%3D%253D&a3=a&c%40=&a2=r%20b#a3=not',
      body: 'c2&a3=2+q&&a3=a',
      contentType: form,
    });
    expect([...parameters]).toEqual([
      ['b5', ['=%3D']],
      ['a3', ['a', '2 q', 'a']],
      ['c@', ['']],
      ['a2', ['r b']],
      ['c2', ['']],
    ]);
  });

  test.each([form, `${form}; charset=UTF-8`, `${form.toUpperCase()} ;charset=utf-8`])('take a body of type %s', (contentType) => {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
      expect([...signedParts({ method, url: 'http://example.com/', body: 'a=1', contentType }).parameters]).toEqual([['a', ['1']]]);
    }
  });

  test.each([undefined, 'application/json', `${form}-not`, `text/plain; ${form}`])('leave a body of type %s out', (contentType) => {
    const request = { method: 'POST', url: 'http://example.com/', body: 'a=1', ...(contentType === undefined ? {} : { contentType }) };
    expect(signedParts(request).parameters.size).toBe(0);
  });

  test('read a body of octets as UTF-8', () => {
    const body = new TextEncoder().encode('a=ä%C3%A4');
    expect([...signedParts({ method: 'POST', url: 'http://example.com/', body, contentType: form }).parameters]).toEqual([['a', ['ää']]]);
  });

  test('keep names every object has', () => {
    const { parameters } = signedParts({ method: 'GET', url: 'http://example.com/?__proto__=1&toString=2&__proto__=3' });
    expect([...parameters]).toEqual([
      ['__proto__', ['1', '3']],
      ['toString', ['2']],
    ]);
  });

  test.each([
    ['?a=%FF', undefined],
    ['', 'a=%C3'],
    ['', new Uint8Array([0x61, 0x3d, 0xff])],
  ])('that are not UTF-8 are refused without being quoted: %j %j', (query, body) => {
    const request = { method: 'post', url: `http://example.com/path${query}`, contentType: form, ...(body === undefined ? {} : { body }) };
    expect(() => signedParts(request)).toThrow(expect.objectContaining({ name: 'AuthError', code: 'HEADGATE_UNSIGNABLE_REQUEST' }));
    expect(() => signedParts(request)).toThrow(
      "Can't sign POST http://example.com/path: its query or form body is not UTF-8. Percent-encode it as UTF-8.",
    );
  });
});

test('half of a surrogate pair in a form is signed as clients send it', () => {
  const { parameters } = signedParts({ method: 'POST', url: 'http://example.com/', body: 'a=\ud800', contentType: form });
  expect(parameters.get('a')).toEqual(['\ufffd']);
});
