import { inspect } from 'node:util';
import type { Signer } from './signer.ts';

/** The kinds of signers of this package. */
export type SignerKind = 'bearer' | 'apiKey' | 'oauth1';

/** Creates a signer that is printed as its kind. Its secrets are in the closures of its methods. */
export function opaqueSigner<Made extends Signer>(kind: SignerKind, methods: Made): Made {
  // Not enumerable, so that spreading and comparing signers see only their methods.
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
