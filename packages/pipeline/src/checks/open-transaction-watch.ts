import type { Clock } from '@headgate/throttle';
import type { OpenTransaction, TopicLog, TopicPartition } from '@headgate/topics';

/** Sees whether another client's open transaction keeps a lane's requests from being read. */
export interface OpenTransactionWatch {
  /** Answers whether one does; `now` false: as it was within the last two seconds. False when the signal aborts. */
  look(now: boolean): Promise<boolean>;
}

export interface OpenTransactionWatchOptions {
  readonly log: TopicLog;
  readonly lane: TopicPartition;
  readonly clock: Clock;
  /** Called when the same transaction has blocked the reader for two seconds, and with undefined when it no longer does. */
  readonly onChange: (transaction: OpenTransaction | undefined) => void;
  readonly signal: AbortSignal;
}

/** A client that enqueues has a transaction open for some milliseconds. */
const TELL_AFTER_MS = 2_000;
const LOOK_AGAIN_MS = 2_000;

export function openTransactionWatch({ log, lane, clock, onChange, signal }: OpenTransactionWatchOptions): OpenTransactionWatch {
  const { topic, partition } = lane;
  let lookAgainMs = -Infinity;
  let seen: { readonly offset: number; readonly atMs: number } | undefined;
  let told = false;

  return {
    async look(now) {
      if (!now && clock.monotonicMs() < lookAgainMs) return seen !== undefined;
      const transaction = await log.openTransaction({ topic, partition }, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
        return undefined;
      });
      const atMs = clock.monotonicMs();
      lookAgainMs = atMs + LOOK_AGAIN_MS;
      if (transaction?.offset !== seen?.offset) {
        seen = transaction && { offset: transaction.offset, atMs };
        if (told) onChange(undefined);
        told = false;
      }
      if (transaction !== undefined && seen !== undefined && !told && atMs - seen.atMs >= TELL_AFTER_MS) {
        told = true;
        onChange(transaction);
      }
      return transaction !== undefined;
    },
  };
}
