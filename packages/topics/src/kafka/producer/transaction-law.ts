/**
 * The law of exactly once: every step that a writer takes with the transactions of one transactional ID, in order. Lanes and the appends of
 * a log take their steps from here, and a model explores the same steps with brokers that lose requests, responses and end markers.
 *
 * A broker can acknowledge a commit but skip its end marker in some partitions (KAFKA-20734). The transaction stays open there, and the next
 * end marker of the same transactional ID decides whether it is committed. Three rules keep everything that was acknowledged:
 *
 * 1. A transaction counts as soon as all of its records are in the log. Its note, a record of the same transaction, lists them.
 * 2. A transaction begins only after every partition has shown the end of the previous one. So an end marker never decides about two
 *   transactions.
 * 3. A new writer, or the same one after an error, first aborts whatever is open. Then it looks for the newest transaction that is completely
 *   in the log, and writes again those of its records that were aborted. An abort can be interrupted and repeated at any point with the same
 *   result, so it doesn't matter how often a writer dies here, or how many writers try at once.
 *
 * A partition that has been deleted counts as having shown every end, and its records count as written.
 */
export type Law<Content, Noted = NotedTransaction> = Generator<Step<Content, Noted>, void, void>;

/**
 * One step of the law. The writer stores the outcome in the step before it requests the next one. If a step fails, the writer begins again.
 */
export type Step<Content, Noted = NotedTransaction> = Fence | End | Poll | Write<Content> | Read<Noted> | Find<Content, Noted>;

/**
 * Gets a new epoch: older producers of the transactional ID are refused, and the transaction that the coordinator knows as open is aborted.
 */
interface Fence {
  readonly do: 'fence';
}

/** Ends a transaction in all its partitions. `again`: the coordinator has already ended it, or an older producer wrote it. */
export interface End {
  readonly do: 'end';
  readonly commit: boolean;
  readonly again: boolean;
}

/** Polls the partitions until all of them show the end of the last transaction, for a limited time. */
export interface Poll {
  readonly do: 'poll';
  isEnded: boolean;
}

/** Sends records, and waits until each partition has acknowledged its part. */
export interface Write<Content> {
  readonly do: 'write';
  readonly content: Content;
  /** The ID under which the content is noted. Content without an ID, such as a barrier, isn't written again if it is lost. */
  readonly id?: TransactionId;
}

export interface Read<Noted = NotedTransaction> {
  readonly do: 'read';
  /** The newest transaction that is known to be complete, and those after it, in the order of the log. */
  transactions: readonly Noted[];
}

export interface TransactionId {
  /** Random, one per writer. */
  readonly incarnation: string;
  /** Counted from 1 within the incarnation. */
  readonly number: number;
}

export interface NotedTransaction {
  readonly id: TransactionId;
  /** True if all of its records are known to have been written: its note is committed, or its writer has seen every acknowledgement. */
  readonly isWhole: boolean;
}

/** Looks for the records of a transaction in the log. */
export interface Find<Content, Noted = NotedTransaction> {
  readonly do: 'find';
  readonly transaction: Noted;
  /** True if all of its records are in the log, committed or aborted, or are known to have been written. */
  isWhole: boolean;
  /** Its aborted records; undefined if there are none. */
  lost: Content | undefined;
}

/** Writes one transaction after the end of the previous one. When all steps have succeeded, the transaction counts. */
export function* write<Content>(content: Content, id?: TransactionId): Law<Content, never> {
  yield* settle(true);
  yield { do: 'write', content, ...(id !== undefined && { id }) };
  yield { do: 'end', commit: true, again: false };
}

/** Waits until every partition has shown the end of the last transaction, and ends the transaction again if that takes too long. */
export function* settle<Content>(commit: boolean): Law<Content, never> {
  for (const poll: Poll = { do: 'poll', isEnded: false }; ;) {
    yield poll;
    if (poll.isEnded) return;
    yield { do: 'end', commit, again: true };
  }
}

/** The first steps of every producer. After these steps, the producer knows what earlier producers have written, and can write. */
export function* begin<Content, Noted extends NotedTransaction = NotedTransaction>(barrier: Content | undefined): Law<Content, Noted> {
  yield { do: 'fence' };
  yield { do: 'end', commit: false, again: true };
  yield* settle(false);
  if (barrier !== undefined) {
    yield* write(barrier);
    yield* settle(true);
  }
  const read: Read<Noted> = { do: 'read', transactions: [] };
  yield read;
  for (const transaction of read.transactions.toReversed()) {
    const find: Find<Content, Noted> = { do: 'find', transaction, isWhole: false, lost: undefined };
    yield find;
    // A transaction that isn't complete was never acknowledged, and is aborted by now.
    if (!find.isWhole) continue;
    if (find.lost !== undefined) {
      yield* write(find.lost, transaction.id);
      yield* settle(true);
      yield { do: 'read', transactions: [] };
    }
    return;
  }
}
