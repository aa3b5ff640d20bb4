import { expect, test } from 'vitest';
import { TopicUnknownError } from '../../topic-errors.ts';
import { verdictOf } from '../client/driver-errors.ts';
import type { Cluster } from '../client/broker.ts';
import type { ReconnectingClient } from '../client/reconnecting-client.ts';
import { ReadYourWrites } from '../consumer/read-your-writes.ts';
import type { TransactionSession } from '../producer/transaction-session.ts';
import { KafkaLaneWriter, type KafkaLaneWriterOptions } from './lane-writer.ts';

/** As a broker says it of a topic it has not heard of yet. */
const UNKNOWN = Object.assign(new Error('This server does not host this topic-partition'), { type: 'UNKNOWN_TOPIC_OR_PARTITION' });

test.for([
  { what: 'a broker', fault: UNKNOWN },
  { what: 'a reading', fault: new TopicUnknownError({ topic: 'state', partition: null, partitions: null }, { cause: UNKNOWN }) },
])('a topic that $what takes for missing, and that is there, ends no lane', async ({ fault }) => {
  let looks = 0;
  const lane = await writer({
    look: async () => {
      looks += 1;
      await (looks === 1 ? Promise.reject(fault) : Promise.resolve());
    },
  });
  await lane.open();
  expect(looks).toBeGreaterThan(1);
});

test('a lane that is closed while it reconnects does not write when it is connected', async () => {
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  let written = 0;
  const lane = await writer({
    begin: async () => {
      reached.resolve();
      await gate.promise;
    },
    write: async () => {
      written += 1;
      await Promise.resolve();
    },
  });
  const opening = lane.open();
  opening.catch(() => undefined);
  await reached.promise;
  await lane.close();
  gate.resolve();
  await expect(opening).rejects.toThrow('closed');
  await new Promise(setImmediate);
  expect(written).toBe(0);
});

interface Parts {
  readonly look?: () => Promise<void>;
  readonly begin?: () => Promise<void>;
  readonly write?: () => Promise<void>;
}

/** A lane whose broker is no more than that; its topics are there. */
async function writer({ look, begin, write }: Parts): Promise<KafkaLaneWriter> {
  const nothing = async (): Promise<void> => await Promise.resolve();
  const session = { begin: begin ?? nothing, write: write ?? nothing, settle: nothing, discard: () => undefined, disconnect: nothing };
  const client: Pick<ReconnectingClient<Cluster>, 'once'> = { once: (look ?? nothing) as () => Promise<never> };
  const options: KafkaLaneWriterOptions = {
    lane: { name: 'lane', state: { topic: 'state', partition: 0 } },
    log: 'log',
    session: () => session as object as TransactionSession,
    readYourWrites: new ReadYourWrites(),
    client: client as ReconnectingClient<Cluster>,
    patience: {
      waitsOut: (error) => verdictOf(error) === 'passes',
      missed: () => undefined,
      reached: () => undefined,
      gaveUp: () => undefined,
    },
    placed: async (content) => await Promise.resolve(content),
    assertThere: nothing,
    member: () => undefined,
    skewMs: () => 0,
    onClose: () => undefined,
  };
  return await Promise.resolve(new KafkaLaneWriter(options));
}
