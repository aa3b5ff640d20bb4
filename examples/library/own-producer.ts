import type { Followers } from '@headgate/sources/followers';
import type { Producer } from 'kafkajs';
import { defer, lastValueFrom } from 'rxjs';

export interface OwnProducerOptions {
  readonly api: Followers;
  readonly screenName: string;
  /** A connected producer with `transactionalId`, `idempotent: true` and `maxInFlightRequests: 1`. */
  readonly producer: Producer;
  /** Topics for the IDs, and for the next cursor of each page. */
  readonly topics: { readonly ids: string; readonly cursors: string };
}

/** Writes the IDs and the next cursor of each page in one transaction of your own producer. */
export async function ownProducer({ api, screenName, producer, topics }: OwnProducerOptions): Promise<void> {
  const pages = api.pages({ screenName }).drain(({ user, ids, nextCursor }) =>
    defer(async () => {
      const transaction = await producer.transaction();
      try {
        await transaction.send({ topic: topics.ids, messages: ids.map((id) => ({ key: user, value: id })) });
        await transaction.send({ topic: topics.cursors, messages: [{ key: user, value: nextCursor }] });
        await transaction.commit();
      } catch (error) {
        await transaction.abort();
        throw error;
      }
    }),
  );
  await lastValueFrom(pages, { defaultValue: undefined });
}
