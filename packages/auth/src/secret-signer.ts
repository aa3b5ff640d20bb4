import { isAwaitedSecret, secretUnavailable } from './auth-error.ts';
import { opaqueSigner, type SignerKind } from './opaque-signer.ts';
import { headerFlaw, isThenable, secretReader } from './secret-reader.ts';
import type { Secret, SecretProvider, Signed, Signer } from './signer.ts';

/**
 * Returns a signer of one secret. `name`: the secret's name, for errors. `signed`: returns the headers or parameters that contain the secret.
 */
export function secretSigner(kind: SignerKind, name: string, secret: Secret | SecretProvider, signed: (secret: string) => Signed): Signer {
  if (typeof secret !== 'function') {
    const read = secretReader(kind, name, secret, headerFlaw);
    return opaqueSigner(kind, { sign: () => signed(read()) });
  }
  const checked = (given: unknown): string => secretReader(kind, name, () => given as string, headerFlaw)();
  let isRefused = false;
  let pending: Pending | undefined;

  const asked = (): { readonly now: unknown } | { readonly later: Pending } => {
    if (pending !== undefined) return { later: pending };
    const abort = new AbortController();
    const refused = isRefused;
    isRefused = false;
    const unavailable = (error: unknown): never => {
      isRefused ||= refused;
      throw isAwaitedSecret(error) ? error : secretUnavailable(kind, name);
    };
    let given: unknown;
    try {
      given = secret({ refused, signal: abort.signal });
    } catch (error) {
      return unavailable(error);
    }
    if (!isThenable(given)) return { now: given };
    const settle = (): void => {
      if (pending === mine) pending = undefined;
    };
    const text = Promise.resolve(given).catch(unavailable);
    const mine: Pending = { text, abort, waiting: 0, leave: settle };
    text.then(settle, settle);
    pending = mine;
    return { later: mine };
  };

  return opaqueSigner(kind, {
    sign(_, { signal } = {}) {
      const given = asked();
      return 'now' in given ? signed(checked(given.now)) : waited(given.later, signal).then((text) => signed(checked(text)));
    },
    refused() {
      isRefused = true;
    },
  });
}

/** A secret that a function has promised, and the number of requests that wait for it. */
interface Pending {
  readonly text: Promise<unknown>;
  readonly abort: AbortController;
  waiting: number;
  /** Makes the next request call the function again. */
  readonly leave: () => void;
}

/** Waits for a secret on behalf of one request. When the last request that waits has given up, the function's signal aborts. */
function waited(pending: Pending, signal: AbortSignal | undefined): Promise<unknown> {
  pending.waiting += 1;
  return new Promise((resolve, reject) => {
    const giveUp = (): void => {
      reject(signal?.reason as Error);
      pending.waiting -= 1;
      if (pending.waiting > 0) return;
      pending.leave();
      pending.abort.abort(signal?.reason);
    };
    if (signal?.aborted === true) {
      giveUp();
      return;
    }
    signal?.addEventListener('abort', giveUp, { once: true });
    pending.text.then(resolve, reject).finally(() => signal?.removeEventListener('abort', giveUp));
  });
}
