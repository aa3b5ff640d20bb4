import { serverWindow, type ServerWindow, type WindowKind } from './server-window.ts';

export interface JudgeOptions {
  readonly kind: WindowKind;
  readonly limit: number;
  readonly windowMs: number;
  /** The server's clock against the client's, parts per million. */
  readonly driftPpm: number;
  readonly phaseMs: number;
}

/** A server that keeps a record of what it was asked. Instants are ms of the client's clock. */
export interface Judge {
  readonly kind: WindowKind;
  readonly driftPpm: number;
  count(atMs: number): boolean;
  /** A request of another user of the same credential; its refusals are that user's. */
  countOther(atMs: number): boolean;
  /** The answer's headers: reset and date in whole seconds. */
  headers(atMs: number): { readonly remaining: number; readonly resetInMs: number };
  verdict(endMs: number): JudgeVerdict;
}

export interface JudgeVerdict {
  readonly kind: WindowKind;
  readonly driftPpm: number;
  /**
   * Requests counted / requests permitted, over whole rounds of `limit` requests: how long a round took, against the window. So a day that
   * ends in the middle of a round is neither an advantage nor a drawback. Other users' requests count as used.
   */
  readonly share: number;
  /** Our own requests that were counted. */
  readonly counted: number;
  readonly refused: number;
  readonly others: number;
  /** When the first refusals were, ms of the client's clock. */
  readonly refusedAtMs: readonly number[];
}

const REFUSALS_KEPT = 5;

export function judge({ kind, limit, windowMs, driftPpm, phaseMs }: JudgeOptions): Judge {
  const window: ServerWindow = serverWindow({ kind, limit, windowMs, phaseMs });
  const rate = 1 + driftPpm * 1e-6;
  const refusedAtMs: number[] = [];
  let counted = 0;
  let others = 0;
  let refused = 0;
  let firstAt = 0;
  let roundAt = 0;
  let rounds = 0;

  const accept = (at: number): boolean => {
    if (!window.count(at)) return false;
    if (counted === 0) firstAt = at;
    if (counted % limit === 0) {
      rounds = counted / limit;
      roundAt = at;
    }
    counted += 1;
    return true;
  };

  return {
    kind,
    driftPpm,
    count(atMs) {
      const accepted = accept(atMs * rate);
      if (!accepted) {
        refused += 1;
        if (refused <= REFUSALS_KEPT) refusedAtMs.push(atMs);
      }
      return accepted;
    },
    countOther(atMs) {
      const accepted = accept(atMs * rate);
      if (accepted) others += 1;
      return accepted;
    },
    headers: (atMs) => ({
      remaining: window.remaining,
      resetInMs: (Math.ceil(window.resetAtMs() / 1_000) - Math.floor((atMs * rate) / 1_000)) * 1_000,
    }),
    verdict(endMs) {
      const end = endMs * rate;
      // One that has stopped asking has not finished its round: then the time since counts.
      const elapsed = (end - roundAt > 2 * windowMs ? end : roundAt) - firstAt;
      const share = rounds === 0 ? counted / limit : Math.min(1, (rounds * windowMs) / elapsed);
      return { kind, driftPpm, share, counted: counted - others, refused, others, refusedAtMs };
    },
  };
}
