import { invalidSecret, isAwaitedSecret, secretUnavailable } from './auth-error.ts';
import type { SignerKind } from './opaque-signer.ts';
import type { Secret } from './signer.ts';

/**
 * Returns a function that reads a secret and throws if the secret is invalid. A secret that is given as text is checked immediately. `name`:
 * the secret's name within its signer, for errors. `flaw`: returns what is wrong with a secret, or undefined if it is valid.
 */
export function secretReader(signer: SignerKind, name: string, secret: Secret, flaw: (text: string) => string | undefined): () => string {
  const checked = (text: unknown, promised = 'the function must be synchronous'): string => {
    if (typeof text !== 'string') throw invalidSecret(signer, name, `is not text but ${describe(text, promised)}`);
    const reason = flaw(text);
    if (reason !== undefined) throw invalidSecret(signer, name, reason);
    return text;
  };
  if (typeof secret !== 'function') {
    const text = checked(secret, 'await it first');
    return () => text;
  }
  return () => checked(called(secret, signer, name));
}

/**
 * Returns why a text is refused as the value of a header (RFC 9110, section 5.5), or undefined. White space at its ends would be lost in
 * transit.
 */
export function headerFlaw(text: string): string | undefined {
  if (text === '') return 'is empty';
  if (/[^\u0020-\u007e]/.test(text))
    return 'contains a control character, a line break or a character beyond ASCII, which no header can carry';
  return text.trim() === text ? undefined : 'begins or ends with a space, which no header can carry';
}

/**
 * Returns why a text is refused as a secret of a signature, or undefined. Characters beyond ASCII are allowed: signatures percent-encode
 * them.
 */
export function signatureFlaw(text: string): string | undefined {
  return text === '' ? 'is empty' : possiblyEmptyFlaw(text);
}

/** Like {@link signatureFlaw}, but accepts an empty text. RFC 5849 allows it for shared secrets (section 3.4.2). */
export function possiblyEmptyFlaw(text: string): string | undefined {
  // oxlint-disable-next-line no-control-regex -- the expression looks for control characters, such as a pasted line break.
  if (/[\u0000-\u001f\u007f]/.test(text)) return 'contains a control character or a line break';
  return text.isWellFormed() ? undefined : 'contains half a surrogate pair, which has no UTF-8 form';
}

function called(secret: () => unknown, signer: SignerKind, name: string): unknown {
  try {
    return secret();
  } catch (error) {
    throw isAwaitedSecret(error) ? error : secretUnavailable(signer, name);
  }
}

/** True for a promise of any library or realm. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

function describe(value: unknown, promised: string): string {
  if (isThenable(value)) {
    // The promise isn't used. Handle its rejection, which could otherwise end the process.
    Promise.resolve(value).catch(() => undefined);
    return `a promise: ${promised}`;
  }
  return value === null || value === undefined ? `${value}` : `of type ${typeof value}`;
}
