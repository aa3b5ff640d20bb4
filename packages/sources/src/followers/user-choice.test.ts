import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isScreenName, isUserId, userLabel } from './user-choice.ts';

test('a user id is a number of 64 bits as it is spelled, and nothing else', () => {
  const digits = fc.stringMatching(/^\d{1,22}$/);
  const nearTheEnd = fc.bigInt({ min: 2n ** 64n - 3n, max: 2n ** 64n + 3n }).map(String);
  fc.assert(
    fc.property(fc.oneof(digits, nearTheEnd, fc.string()), (text) => {
      const isOne = /^\d+$/.test(text) && String(BigInt(text)) === text && BigInt(text) > 0n && BigInt(text) < 2n ** 64n;
      expect(isUserId(text)).toBe(isOne);
    }),
  );
});

test.each(['', '@alpha', 'a b', 'söhne', 'a-b', 'a\n', 'a'.repeat(51)])('%j is no screen name', (text) => {
  expect(isScreenName(text)).toBe(false);
});

test('spellings of one screen name are one user, and no id', () => {
  expect(['Alpha', 'ALPHA', 'alpha'].map((screenName) => userLabel({ screenName }))).toEqual(['@alpha', '@alpha', '@alpha']);
  expect(userLabel({ userId: '12' })).not.toBe(userLabel({ screenName: '12' }));
});
