import { bearer, oauth1, type Signer } from '@headgate/auth';
import { describe, expect, test } from 'vitest';
import { sharedSecret } from './shared-secret.ts';

const REQUEST = { method: 'GET', url: 'https://api.example/x' };

/** Signs with each in turn, and gives what each shares its secret with. */
function twins(
  signers: Readonly<Record<string, Signer>>,
  order: readonly string[] = Object.keys(signers),
): readonly (string | undefined)[] {
  const shared = sharedSecret();
  const signedBy = (name: string): string => signers[name]?.sign(REQUEST).authorization ?? '';
  return order.map((credential) => shared({ credential, authorization: signedBy(credential), signedBy }));
}

describe('credentials that share a secret', () => {
  test('are found, whatever the kind', () => {
    expect(twins({ a: bearer('same'), b: bearer(() => 'same'), c: bearer('other') }, ['a', 'b', 'c', 'a'])).toEqual([
      undefined,
      'a',
      undefined,
      'b',
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

  test('are those that share it now', () => {
    const secrets = { a: 'one', b: 'two' };
    const signers = { a: bearer(() => secrets.a), b: bearer(() => secrets.b) };
    const shared = sharedSecret();
    const signedBy = (name: string): string => (name === 'a' ? signers.a : signers.b).sign(REQUEST).authorization;
    const sign = (credential: string): string | undefined => shared({ credential, authorization: signedBy(credential), signedBy });
    expect([sign('a'), sign('b')]).toEqual([undefined, undefined]);
    // Both have got new ones: that of `a` is the one `b` was last seen with.
    Object.assign(secrets, { a: 'two', b: 'three' });
    expect(sign('a')).toBeUndefined();
    Object.assign(secrets, { b: 'two' });
    expect(sign('b')).toBe('a');
  });

  test('are none where a secret is missing, or nothing of a header stays', () => {
    let isThere = true;
    const gone = bearer(() => {
      if (isThere) return 'same';
      throw new Error('no such secret');
    });
    const shared = sharedSecret();
    const signedBy = (): string => gone.sign(REQUEST).authorization;
    expect(shared({ credential: 'a', authorization: signedBy(), signedBy })).toBeUndefined();
    isThere = false;
    expect(shared({ credential: 'b', authorization: 'Bearer same', signedBy })).toBeUndefined();
    let nonce = 0;
    const signature: Signer = { sign: () => ({ authorization: `HMAC ${(nonce += 1)}` }) };
    expect(twins({ a: signature, b: signature })).toEqual([undefined, undefined]);
  });
});
