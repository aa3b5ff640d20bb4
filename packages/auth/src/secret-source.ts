import { secretUnavailable } from './auth-error.ts';
import { isAwaitedSecret } from './awaited-secret.ts';
import { isThenable, type SecretReaderOptions, secretReader } from './secret-reader.ts';
import type { Secret, SecretProvider, Signed, Signer } from './signer.ts';

export interface SecretSourceOptions extends Omit<SecretReaderOptions, 'secret'> {
  readonly secret: Secret | SecretProvider;
}

export interface SecretSource {
  /** Returns a signer. `signed` returns the headers or parameters that contain the secret. */
  signer(signed: (secret: string) => Signed): Signer;
}

export function secretSource({ secret, ...about }: SecretSourceOptions): SecretSource {
  if (typeof secret !== 'function') {
    const read = secretReader({ ...about, secret });
    return { signer: (signed) => ({ sign: () => signed(read()) }) };
  }
  const checked = (given: unknown): string => secretReader({ ...about, secret: () => given as string })();
  let isRefused = false;
  let pending: Pending | undefined;

  const asked = (): { readonly now: unknown } | { readonly later: Pending } => {
    if (pending !== undefined) return { later: pending };
    const abort = new AbortController();
    const refused = isRefused;
    isRefused = false;
    const unavailable = (error: unknown): never => {
      isRefused ||= refused;
      throw isAwaitedSecret(error) ? error : secretUnavailable(about.signer, about.name);
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

  return {
    signer: (signed) => ({
      sign(_, { signal } = {}) {
        const given = asked();
        return 'now' in given ? signed(checked(given.now)) : waited(given.later, signal).then((text) => signed(checked(text)));
      },
      refused() {
        isRefused = true;
      },
    }),
  };
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
