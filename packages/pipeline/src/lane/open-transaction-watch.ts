import type { Clock } from '@headgate/throttle';
import type { OpenTransaction, TopicLog, TopicPartition } from '@headgate/topics';

/** Detects whether an open transaction blocks the reader of a lane's requests. */
export interface OpenTransactionWatch {
  /**
   * Returns true if a transaction is open, or may be and can't be looked for yet. `now`: true to query the log; false to query it at most every two
   * seconds, and only if a transaction may be open or was.
   */
  check(now: boolean, mayBeOpen: boolean): Promise<boolean>;
}

export interface OpenTransactionWatchOptions {
  readonly log: TopicLog;
  readonly lane: TopicPartition;
  readonly clock: Clock;
  /** Called when checks have found the same transaction open for two seconds, and with undefined when a check finds that it has ended. */
  readonly onChange: (transaction: OpenTransaction | undefined) => void;
  readonly signal: AbortSignal;
}

/**
 * Time after which an open transaction is reported, in ms. A client that enqueues jobs normally keeps its transaction open for only a few
 * milliseconds.
 */
const REPORT_AFTER_MS = 2_000;
const CHECK_AGAIN_MS = 2_000;

export function openTransactionWatch({ log, lane, clock, onChange, signal }: OpenTransactionWatchOptions): OpenTransactionWatch {
  const { topic, partition } = lane;
  let checkAgainMs = -Infinity;
  let seen: { readonly offset: number; readonly atMs: number } | undefined;
  let isReported = false;

  return {
    async check(now, mayBeOpen) {
      if (!now && !mayBeOpen && seen === undefined) return false;
      // Too early to ask: the caller has to come again.
      if (!now && clock.monotonicMs() < checkAgainMs) return true;
      const transaction = await log.openTransaction({ topic, partition }, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
        return undefined;
      });
      const atMs = clock.monotonicMs();
      checkAgainMs = atMs + CHECK_AGAIN_MS;
      if (transaction?.offset !== seen?.offset) {
        seen = transaction && { offset: transaction.offset, atMs };
        if (isReported) onChange(undefined);
        isReported = false;
      }
      if (transaction !== undefined && seen !== undefined && !isReported && atMs - seen.atMs >= REPORT_AFTER_MS) {
        isReported = true;
        onChange(transaction);
      }
      return transaction !== undefined;
    },
  };
}
