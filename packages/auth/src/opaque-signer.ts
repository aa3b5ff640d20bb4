import { inspect } from 'node:util';
import type { Signer } from './signer.ts';

export type SignerKind = 'bearer' | 'apiKey' | 'oauth1';

/** Creates a signer that `inspect` and JSON show only as its kind. The methods must keep secrets in closures, which `inspect` can't show. */
export function opaqueSigner<Made extends Signer>(kind: SignerKind, methods: Made): Made {
  // The two properties aren't enumerable, so that spreading or comparing signers sees only their methods.
  return Object.freeze(
    Object.defineProperties(
      { ...methods },
      {
        toJSON: { value: () => ({ signer: kind }) },
        [inspect.custom]: { value: () => `[${kind} signer]` },
      },
    ),
  );
}
