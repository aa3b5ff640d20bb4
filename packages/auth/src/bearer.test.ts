import { expect, test } from 'vitest';
import { bearer } from './bearer.ts';

const request = { method: 'GET', url: 'https://example.com/' };

test('sends the token after its scheme, and has no clock', () => {
  const signer = bearer('AAAA%2FBBBB%3D');
  expect(signer.sign(request)).toEqual({ authorization: 'Bearer AAAA%2FBBBB%3D' });
  expect(signer).not.toHaveProperty('adjustClock');
});

test('calls a function for the token at each request', () => {
  const tokens = ['first', 'second'];
  const signer = bearer(() => tokens.shift() ?? '');
  expect([signer.sign(request), signer.sign(request)]).toEqual([{ authorization: 'Bearer first' }, { authorization: 'Bearer second' }]);
  expect(() => signer.sign(request)).toThrow('The token of the bearer signer is empty. Check where it is configured, for example');
});
