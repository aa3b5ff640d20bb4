import { Backoff } from '../../backoff.ts';
import { isAnswer } from '../client/driver-errors.ts';

const WITHIN_MS = 3_000;
const PAUSES = { leastMs: 50, firstMs: 200, mostMs: 400 };

/** True if the cluster has too few brokers for the replicas. Kafka also counts a broker that is down but registered. */
export function lacksBrokers(error: unknown): boolean {
  return isAnswer(error, 'INVALID_REPLICATION_FACTOR');
}

/** Repeats `work` for about 3 s while the cluster has too few brokers for it: one that is starting may not have all of them yet. */
export async function withEnoughBrokers<T>(work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + WITHIN_MS;
  for (const backoff = new Backoff(PAUSES); ; await backoff.pause()) {
    try {
      return await work();
    } catch (error) {
      if (!lacksBrokers(error) || performance.now() >= deadline) throw error;
    }
  }
}
