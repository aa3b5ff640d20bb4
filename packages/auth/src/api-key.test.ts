import { expect, test } from 'vitest';
import { apiKey } from './api-key.ts';

const request = { method: 'GET', url: 'https://example.com/' };

test('sends the key and nothing else', () => {
  expect(apiKey('48_abc def').sign(request)).toEqual({ authorization: '48_abc def' });
});

test('calls a function for the key at each request', () => {
  const keys = ['first', 'second'];
  const signer = apiKey(() => keys.shift() ?? '');
  expect([signer.sign(request), signer.sign(request)]).toEqual([{ authorization: 'first' }, { authorization: 'second' }]);
});

test('goes into a custom header, the query or the body, as the service requires', () => {
  expect(apiKey('key', { header: 'X-Api-Key' }).sign(request)).toEqual({ headers: { 'x-api-key': 'key' } });
  expect(apiKey(() => 'key', { query: 'api_key' }).sign(request)).toEqual({ query: { api_key: 'key' } });
  expect(apiKey(() => 'key', { body: 'api_key' }).sign(request)).toEqual({ body: { api_key: 'key' } });
  for (const header of ['', 'x api key', 'x-api-key:', 'x\r\ny']) expect(() => apiKey('key', { header })).toThrow(/isn't a header name/);
});
