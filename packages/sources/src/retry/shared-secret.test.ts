import { type AuthorizationSigner, bearer, oauth1 } from '@headgate/auth';
import { describe, expect, test } from 'vitest';
import { SharedSecrets } from './shared-secret.ts';

const isRetired = () => false;
const REQUEST = { method: 'GET', url: 'https://api.example/x' };

/** Signs with each credential in turn. Returns the credential that each one shares its secret with. */
async function twins(
  signers: Readonly<Record<string, AuthorizationSigner>>,
  order: readonly string[] = Object.keys(signers),
): Promise<readonly (string | undefined)[]> {
  const shared = new SharedSecrets();
  const signedBy = (name: string): readonly string[] => [signers[name]?.sign(REQUEST).authorization ?? ''];
  const found: (string | undefined)[] = [];
  for (const credential of order) found.push(await shared.sharedWith(credential, signedBy(credential), isRetired, signedBy));
  return found;
}

describe('credentials that share a secret', () => {
  test('are found, whatever the kind', async () => {
    // The second of them isn't used any more, so the first one is alone.
    expect(await twins({ a: bearer('same'), b: bearer(() => 'same'), c: bearer('other') }, ['a', 'b', 'c', 'a'])).toEqual([
      undefined,
      'a',
      undefined,
      undefined,
    ]);
    const app = { consumerKey: 'key', consumerSecret: 'secret' };
    const user = { ...app, token: 'token', tokenSecret: 'shh' };
    expect(
      await twins({ a: oauth1(user), b: oauth1(user), c: oauth1(app), d: oauth1(app), e: oauth1({ ...user, token: 'their' }) }),
    ).toEqual([undefined, 'a', undefined, 'c', undefined]);
  });

  test('are those that share it now', async () => {
    const secrets = { a: 'one', b: 'two' };
    const signers = { a: bearer(() => secrets.a), b: bearer(() => secrets.b) };
    const shared = new SharedSecrets();
    const signedBy = (name: string): readonly string[] => [(name === 'a' ? signers.a : signers.b).sign(REQUEST).authorization];
    const sign = (credential: string): Promise<string | undefined> =>
      shared.sharedWith(credential, signedBy(credential), isRetired, signedBy);
    expect([await sign('a'), await sign('b')]).toEqual([undefined, undefined]);
    // Both secrets have changed. The new one of `a` equals the last known one of `b`.
    Object.assign(secrets, { a: 'two', b: 'three' });
    expect(await sign('a')).toBeUndefined();
    Object.assign(secrets, { b: 'two' });
    expect(await sign('b')).toBe('a');
  });

  test('are none where a secret is missing, or nothing of a header stays', async () => {
    let isThere = true;
    const gone = bearer(() => {
      if (isThere) return 'same';
      throw new Error('no such secret');
    });
    const shared = new SharedSecrets();
    const signedBy = (): readonly string[] => [gone.sign(REQUEST).authorization];
    expect(await shared.sharedWith('a', signedBy(), isRetired, signedBy)).toBeUndefined();
    isThere = false;
    expect(await shared.sharedWith('b', ['Bearer same'], isRetired, signedBy)).toBeUndefined();
    let nonce = 0;
    const signature: AuthorizationSigner = { sign: () => ({ authorization: `HMAC ${(nonce += 1)}` }) };
    expect(await twins({ a: signature, b: signature })).toEqual([undefined, undefined]);
  });
});
