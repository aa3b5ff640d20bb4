import { opaqueSigner } from './opaque-signer.ts';
import { headerFlaw, secretReader } from './secret-reader.ts';
import type { Secret, Signer } from './signer.ts';

/**
 * Signs with a key that is the whole header: `Authorization: <key>`.
 *
 * @param key the key, or a function that gives it at each request
 * @throws {@link InvalidSecretError} when the key is empty or can't be sent in a header: at once, or at the request when it is a function.
 */
export function apiKey(key: Secret): Signer {
  const read = secretReader({ signer: 'apiKey', name: 'key', secret: key, flaw: headerFlaw });
  return opaqueSigner('apiKey', { sign: () => ({ authorization: read() }) });
}
