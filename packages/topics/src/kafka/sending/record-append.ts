import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Producer } from 'kafkajs';
import type { NewRecord, RecordPosition } from '../../topic-log.ts';
import type { InnerCluster } from '../inner-cluster.ts';
import { Leftovers } from '../lane/leftovers.ts';
import type { Link } from '../connection/link.ts';
import type { OwnWrites } from '../reading/own-writes.ts';
import { fetchRecords, partitionsOf } from '../reading/partition-log.ts';
import { placeOf } from '../places.ts';
import { type RecordSender, type SentRecords, byPlace } from './record-sender.ts';

const LOOK_AGAIN_MS = 20;

export interface AppendOptions {
  /** A new producer of that transactional id. */
  readonly producer: (transactionalId: string, leftovers: Leftovers) => Producer;
  readonly sender: RecordSender;
  readonly ownWrites: OwnWrites;
  readonly link: Link<InnerCluster>;
  /** Their partitions known. */
  readonly records: readonly (NewRecord & { readonly partition: number })[];
}

/** Appends records in a transaction of its own. After a fault: when that left the outcome unknown it is looked up, else they are sent again. */
export async function appendRecords({
  producer: newProducer,
  sender,
  ownWrites,
  link,
  records,
}: AppendOptions): Promise<readonly RecordPosition[]> {
  const transactionalId = `append-${randomUUID()}`;
  let leftovers = new Leftovers([]);
  let unknown: { readonly sent: SentRecords; readonly positions: readonly RecordPosition[] } | undefined;
  let isAcknowledged = false;
  return await link.run(async (cluster) => {
    // Its first transaction ends what an earlier one of the same id has left open.
    const producer = newProducer(transactionalId, leftovers);
    try {
      await producer.connect();
      if (unknown !== undefined) {
        await (await producer.transaction()).abort();
        if (isAcknowledged || (await isCommitted(cluster, unknown.positions[0]))) {
          ownWrites.committed(unknown.sent);
          return unknown.positions;
        }
        unknown = undefined;
      }
      leftovers = new Leftovers(records);
      const transaction = await producer.transaction();
      const sent = await sender.send(transaction, byPlace(records)).catch(async (error: unknown) => {
        // Readers would wait for its time-out.
        await transaction.abort().catch(() => undefined);
        throw error;
      });
      const positions = positionsOf(records, sent);
      unknown = { sent, positions };
      await transaction.commit();
      isAcknowledged = true;
      ownWrites.committed(sent);
      // Nobody takes this id over: what a killed broker has not told its partitions would hold back all that comes behind it.
      if (!(await ownWrites.areReadable(cluster, positions))) throw new Error('What was committed can not be read yet.');
      return positions;
    } finally {
      producer.disconnect().catch(() => undefined);
    }
  });
}

function positionsOf(records: AppendOptions['records'], sent: SentRecords): readonly RecordPosition[] {
  const next = new Map([...sent].map(([place, { first }]) => [place, first]));
  return records.map(({ topic, partition }) => {
    const place = placeOf(topic, partition);
    const offset = next.get(place) ?? -1;
    next.set(place, offset + 1);
    return { topic, partition, offset };
  });
}

/** Whether a reader of committed records sees the record at that place, whose transaction has ended. */
async function isCommitted(cluster: InnerCluster, position: RecordPosition | undefined): Promise<boolean> {
  if (position === undefined || position.offset < 0) return false;
  const { topic, partition, offset } = position;
  await partitionsOf(cluster, topic);
  for (;;) {
    const { records, lastStable } = await fetchRecords(cluster, { topic, partition, offset, maxWaitMs: 100 });
    if (records.length > 0 || lastStable > offset) return records[0]?.offset === offset;
    // Somebody else's open transaction holds it back.
    await sleep(LOOK_AGAIN_MS);
  }
}
