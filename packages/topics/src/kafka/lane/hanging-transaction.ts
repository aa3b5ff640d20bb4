import type { TopicPartition } from '../../topic-log.ts';
import { byTopic } from '../../topic-partition.ts';
import type { InitOptions, ProducerEpoch, TransactionBroker } from '../client/broker.ts';

/**
 * The last transaction of a transactional id, which may hang. A broker that is killed right after it has decided a transaction may count it
 * as complete after its restart, without having written the partitions' markers (seen with Kafka 4.3.1): an acknowledged transaction then
 * stays open, and ends as its producer's next one does. So a process that takes the id over ends it as it was decided.
 */
export class HangingTransaction {
  readonly #topicPartitions: readonly TopicPartition[];
  /** Kept until it is carried out: fencing makes the coordinator forget it. */
  #wasCommitted: boolean | undefined;

  /** `topicPartitions`: all that the transaction may have written; none for an id that is new. */
  constructor(topicPartitions: readonly TopicPartition[]) {
    this.#topicPartitions = topicPartitions;
  }

  /** Fences every older producer, and ends the last one's transaction. Resolves to the newest producer. */
  async fence(coordinator: TransactionBroker, options: InitOptions): Promise<ProducerEpoch> {
    if (this.#topicPartitions.length === 0) return await coordinator.initProducerId(options);
    const { transactionalId } = options;
    this.#wasCommitted ??= await wasCommitted(coordinator, transactionalId);
    const producer = await coordinator.initProducerId(options);
    const { producerId, producerEpoch } = producer;
    await coordinator.addPartitionsToTxn({ transactionalId, producerId, producerEpoch, topics: byTopic(this.#topicPartitions) });
    await coordinator.endTxn({ transactionalId, producerId, producerEpoch, transactionResult: this.#wasCommitted });
    this.#wasCommitted = undefined;
    return producer;
  }
}

/** True when the coordinator has committed it. Only an `Ongoing` transaction can still be aborted, by the fence. */
async function wasCommitted(coordinator: TransactionBroker, transactionalId: string): Promise<boolean> {
  const state = await coordinator.describeTransaction({ transactionalId });
  // The fence is tried again.
  if (state?.startsWith('Prepare') === true) throw new TransactionEndingError({ transactionalId });
  return state === 'CompleteCommit';
}

class TransactionEndingError extends Error {
  override readonly name = 'TransactionEndingError';
  /** Kafka's, which is what a fence would meet. */
  readonly type = 'CONCURRENT_TRANSACTIONS';
  readonly retriable = true;

  constructor(details: { readonly transactionalId: string }, options?: ErrorOptions) {
    super(`The last transaction of ${details.transactionalId} is still being ended.`, options);
  }
}
