import { apiKey, bearer, oauth1 } from '@headgate/auth';
import { expect, test } from 'vitest';
import { redactedAnswer } from './redacted-answer.ts';

const request = { method: 'GET', url: 'https://api.example.com/x' };

test.each([
  ['bearer', bearer('abc-secret/+=='), ['abc-secret/+==']],
  ['an API key', apiKey('key with spaces'), ['key with spaces', 'spaces']],
  ['oauth1', oauth1({ consumerKey: 'consumer/key', consumerSecret: 's', nonce: () => 'nonce-nonce' }), ['consumer/key', 'consumer%2Fkey']],
])('what %s sent is blotted out of what is said of it', (_, signer, secrets) => {
  const { authorization } = signer.sign(request);
  for (const secret of [...secrets, authorization]) {
    const body = Buffer.from(JSON.stringify({ error: `what is ${secret}?` }));
    const redacted = redactedAnswer({ status: 401, headers: {}, body }, authorization);
    expect(redacted.body.toString()).toContain('***');
    expect(redacted.body.toString()).not.toContain(secret);
  }
});

test('what does not repeat it is left as it is', () => {
  const answer = { status: 401, headers: {}, body: Buffer.from('{"error":"Not authorized."}') };
  expect(redactedAnswer(answer, 'Bearer abc-secret')).toBe(answer);
});
