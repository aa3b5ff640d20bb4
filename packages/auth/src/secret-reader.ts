import { invalidSecret, secretUnavailable } from './auth-error.ts';
import { isAwaitedSecret } from './awaited-secret.ts';
import type { SignerKind } from './opaque-signer.ts';
import type { Secret } from './signer.ts';

/** Options of {@link secretReader}. */
export interface SecretReaderOptions {
  /** The kind of signer the secret belongs to: named in errors. */
  readonly signer: SignerKind;
  /** Which secret of that signer: named in errors. */
  readonly name: string;
  /** The secret, or the function that gives it. */
  readonly secret: Secret;
  /** Says what is wrong with a text, or nothing when it will do. */
  readonly flaw: (text: string) => string | undefined;
}

/** Returns a function that reads a secret and refuses an invalid one. A secret given as text is refused at once. */
export function secretReader({ signer, name, secret, flaw }: SecretReaderOptions): () => string {
  const checked = (text: unknown): string => {
    if (typeof text !== 'string') {
      throw invalidSecret(signer, name, `is not text but ${describe(text)}`);
    }
    const reason = flaw(text);
    if (reason !== undefined) {
      throw invalidSecret(signer, name, reason);
    }
    return text;
  };
  if (typeof secret !== 'function') {
    const text = checked(secret);
    return () => text;
  }
  return () => checked(called(secret, signer, name));
}

/** Reasons why a text can't be a header: RFC 9110, section 5.5. Optional white space would be lost on the way. */
export function headerFlaw(text: string): string | undefined {
  if (text === '') {
    return 'is empty';
  }
  if (/[^\u0020-\u007e]/.test(text)) {
    return 'contains a control character, a line break or a character beyond ASCII, which no header can carry';
  }
  return text.trim() === text ? undefined : 'begins or ends with a space, which no header can carry';
}

/** Flaws of a text that goes into a signature, where every character but these is percent-encoded. */
export function signatureFlaw(text: string): string | undefined {
  return text === '' ? 'is empty' : possiblyEmptyFlaw(text);
}

/** As {@link signatureFlaw}, for the texts RFC 5849 allows to be empty: the shared secrets (section 3.4.2). */
export function possiblyEmptyFlaw(text: string): string | undefined {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for: a pasted line break above all.
  if (/[\u0000-\u001f\u007f]/.test(text)) {
    return 'contains a control character or a line break';
  }
  return text.isWellFormed() ? undefined : 'contains half a surrogate pair, which has no UTF-8 form';
}

function called(secret: () => unknown, signer: SignerKind, name: string): unknown {
  try {
    return secret();
  } catch (error) {
    throw isAwaitedSecret(error) ? error : secretUnavailable(signer, name);
  }
}

function describe(value: unknown): string {
  if (value instanceof Promise) {
    // This promise is dropped, and its rejection must not end the process.
    value.catch(() => undefined);
    return 'a promise: the function must be synchronous';
  }
  return value === null || value === undefined ? `${value}` : `of type ${typeof value}`;
}
