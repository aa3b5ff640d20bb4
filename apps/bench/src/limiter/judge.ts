import { serverWindow, type ServerWindow, type WindowKind } from './server-window.ts';

export interface JudgeOptions {
  readonly kind: WindowKind;
  readonly limit: number;
  readonly windowMs: number;
  /** Drift of the server's clock against the client's, parts per million. */
  readonly driftPpm: number;
  readonly phaseMs: number;
}

/** A server that counts requests in its window. Times are ms of the client's clock. */
export interface Judge {
  readonly kind: WindowKind;
  readonly driftPpm: number;
  count(atMs: number): boolean;
  /** Counts a request of another client with the same credential. Its refusals aren't counted as ours. */
  countOther(atMs: number): boolean;
  /** The headers of an answer. Times are in whole seconds, converted to ms. */
  headers(atMs: number): { readonly remaining: number; readonly resetInMs: number };
  verdict(endMs: number): JudgeVerdict;
}

export interface JudgeVerdict {
  readonly kind: WindowKind;
  readonly driftPpm: number;
  /**
   * Share of the permitted requests that were counted, including those of other clients. It is measured over whole rounds of `limit` requests, so
   * that a simulation that ends in the middle of a round has no advantage or drawback.
   */
  readonly share: number;
  /** Number of our requests that were counted. */
  readonly counted: number;
  readonly refused: number;
  readonly others: number;
}

export function judge({ kind, limit, windowMs, driftPpm, phaseMs }: JudgeOptions): Judge {
  const window: ServerWindow = serverWindow({ kind, limit, windowMs, phaseMs });
  const rate = 1 + driftPpm * 1e-6;
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
      if (!accepted) refused += 1;
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
      // A client that has stopped requesting never finishes its round, so the time since then counts, too.
      const elapsed = (end - roundAt > 2 * windowMs ? end : roundAt) - firstAt;
      const share = rounds === 0 ? counted / limit : Math.min(1, (rounds * windowMs) / elapsed);
      return { kind, driftPpm, share, counted: counted - others, refused, others };
    },
  };
}
