import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { afterEach, describe, inject, it } from 'vitest';
import type { AvailabilityChange } from '../../availability.ts';
import { kafkaTopicLog } from '../index.ts';
import type { Broker } from '../client/broker.ts';

const { why, ...broker } = inject('kafkaBroker');
const because = why === undefined ? '' : ` (skipped: ${why})`;

const require = createRequire(import.meta.url);
const { prototype } = require('kafkajs/src/broker') as {
  readonly prototype: { fetch: (this: Broker, ...options: Parameters<Broker['fetch']>) => ReturnType<Broker['fetch']> };
};
const realFetch = prototype.fetch;

/** As brokers answer that have not read their remote storage in time, while `isSlow` says so. */
function forgeSlowRemoteStorage(isSlow: () => boolean): void {
  prototype.fetch = async function (this: Broker, options) {
    const { responses } = await realFetch.call(this, options);
    if (!isSlow()) return { responses };
    return {
      responses: responses.map((response) => ({ ...response, partitions: response.partitions.map((data) => ({ ...data, messages: [] })) })),
    };
  };
}

describe.skipIf(why !== undefined)(`an answer without records, where records are${because}`, () => {
  afterEach(() => {
    prototype.fetch = realFetch;
  });

  it.for([true, false])('is requested again, and reported as a wait: no record is skipped (follow: %s)', async (follow, { expect }) => {
    let isSlow = false;
    forgeSlowRemoteStorage(() => isSlow);
    const reasons: string[] = [];
    const onAvailability = (change: AvailabilityChange): void => {
      if (change.available) return;
      reasons.push(change.reason);
      isSlow = false;
    };
    await using log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1, onAvailability });
    const topic = `remote-${String(follow)}-${randomUUID()}`;
    await log.createTopics([{ name: topic, partitions: 1 }]);
    const values = ['0', '1', '2'];
    for (const value of values) await log.append([{ topic, key: null, value }]);
    isSlow = true;
    const read: (string | null)[] = [];
    for await (const { value } of log.read({ topic, follow })) if (read.push(value) === values.length) break;
    expect(read).toEqual(values);
    expect(reasons).toEqual([
      `The broker has not handed out what is committed at ${topic}-0:0. Is its remote storage slow, or was the topic compacted before?`,
    ]);
  });
});
