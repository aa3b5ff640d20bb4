import { describe, expect, test } from 'vitest';
import { redaction } from './redaction.ts';

const TOKEN = 'AAAA/SECRET/TOKEN+x==';

describe('redaction', () => {
  const redact = redaction(`Bearer ${TOKEN}`);

  test.each([
    `nothing for Bearer ${TOKEN} here`,
    `nothing for ${TOKEN}`,
    `nothing for ${TOKEN.slice(0, -2)}`,
    `nothing for ${encodeURIComponent(TOKEN)}`,
    `nothing for ${TOKEN.toLowerCase()}`,
    `nothing for ${Buffer.from(TOKEN).toString('base64')}`,
  ])('leaves nothing of it in %j', (text) => {
    expect(redact(text).toLowerCase()).not.toContain('secret');
    expect(redact(text)).toMatch(/^nothing for (?:\*\*\*)+/);
  });

  test('leaves words alone', () => {
    expect(redact('the bearer of this is not authorized')).toBe('the bearer of this is not authorized');
  });

  test('takes every part of an OAuth header out', () => {
    const signed = redaction('OAuth oauth_consumer_key="consumer-key", oauth_signature="abc%2Bdef%3D"');
    expect(signed('bad signature abc+def= of consumer-key')).toBe('bad signature *** of ***');
  });
});
