import { expect, test } from 'vitest';
import { apiKey } from './api-key.ts';

const request = { method: 'GET', url: 'https://example.com/' };

test('sends the key and nothing else', () => {
  expect(apiKey('48_abc def').sign(request)).toEqual({ authorization: '48_abc def' });
});

test('asks a function for the key at each request', () => {
  const keys = ['first', 'second'];
  const signer = apiKey(() => keys.shift() ?? '');
  expect([signer.sign(request), signer.sign(request)]).toEqual([{ authorization: 'first' }, { authorization: 'second' }]);
});
