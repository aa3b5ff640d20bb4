import { opaqueSigner } from './opaque-signer.ts';
import { headerFlaw, secretReader } from './secret-reader.ts';
import type { Secret, Signer } from './signer.ts';

/**
 * Signs with a bearer token: `Authorization: Bearer <token>` (RFC 6750, section 2.1).
 *
 * @param token the token, or a function that gives it at each request
 * @throws {@link InvalidSecretError} when the token is empty or can't be sent in a header: at once, or at the request when it is a function.
 */
export function bearer(token: Secret): Signer {
  const read = secretReader({ signer: 'bearer', name: 'token', secret: token, flaw: headerFlaw });
  return opaqueSigner('bearer', { sign: () => ({ authorization: `Bearer ${read()}` }) });
}
