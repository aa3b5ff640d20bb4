import { type AuthorizationSigner, bearer, oauth1 } from '@headgate/auth';
import { describe, expect, test } from 'vitest';
import { lastingSecret, SharedSecrets } from './shared-secret.ts';

const REQUEST = { method: 'GET', url: 'https://api.example/x' };

/** Signs with each credential in turn. Returns the credential that each one shares its secret with. */
function twins(
  signers: Readonly<Record<string, AuthorizationSigner>>,
  order: readonly string[] = Object.keys(signers),
): readonly (string | undefined)[] {
  const shared = new SharedSecrets();
  return order.map((name) => shared.sharedWith(name, lastingSecret([signers[name]?.sign(REQUEST).authorization ?? ''])));
}

describe('credentials that share a secret', () => {
  test('are found, whatever the kind', () => {
    // The second of them isn't used any more, so the first one is alone.
    expect(twins({ a: bearer('same'), b: bearer(() => 'same'), c: bearer('other') }, ['a', 'b', 'c', 'a'])).toEqual([
      undefined,
      'a',
      undefined,
      undefined,
    ]);
    const app = { consumerKey: 'key', consumerSecret: 'secret' };
    const user = { ...app, token: 'token', tokenSecret: 'shh' };
    expect(twins({ a: oauth1(user), b: oauth1(user), c: oauth1(app), d: oauth1(app), e: oauth1({ ...user, token: 'their' }) })).toEqual([
      undefined,
      'a',
      undefined,
      'c',
      undefined,
    ]);
  });

  test('are those that share it now: a secret can change', () => {
    const secrets = { a: 'one', b: 'two' };
    const signers = { a: bearer(() => secrets.a), b: bearer(() => secrets.b) };
    const shared = new SharedSecrets();
    const sign = (name: 'a' | 'b') => shared.sharedWith(name, signers[name].sign(REQUEST).authorization);
    expect([sign('a'), sign('b')]).toEqual([undefined, undefined]);
    Object.assign(secrets, { a: 'three', b: 'one' });
    expect([sign('a'), sign('b')]).toEqual([undefined, undefined]);
    Object.assign(secrets, { b: 'three' });
    expect(sign('b')).toBe('a');
  });

  test('are none where nothing of a header stays', () => {
    let nonce = 0;
    const signature: AuthorizationSigner = { sign: () => ({ authorization: `HMAC ${(nonce += 1)}` }) };
    expect(twins({ a: signature, b: signature })).toEqual([undefined, undefined]);
  });
});
