import { secretSigner } from './secret-signer.ts';
import type { Secret, SecretProvider, Signer, SignerOf } from './signer.ts';

/**
 * Signs with a bearer token: `Authorization: Bearer <token>` (RFC 6750, section 2.1).
 *
 * @param token the token, or a function that returns it for each request, possibly as a promise
 * @throws {@link AuthError} `HEADGATE_INVALID_SECRET` when the token is empty or can't be sent in a header. A function's token is checked
 * at each request.
 */
export function bearer<Given extends Secret | SecretProvider>(token: Given): SignerOf<Given>;
export function bearer(token: Secret | SecretProvider): Signer {
  return secretSigner('bearer', 'token', token, (secret) => ({ authorization: `Bearer ${secret}` }));
}
