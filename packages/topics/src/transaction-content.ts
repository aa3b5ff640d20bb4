import { assertFields } from './record-fields.ts';
import { InvalidRecordError } from './topic-errors.ts';
import { closedError } from './topic-log-error.ts';
import type { LaneSpec, LaneTransaction, NewRecord, OffsetCommit, RecordSeries } from './topic-log.ts';

/** The writes of one transaction. */
export interface TransactionContent {
  /** All records in call order, including those of the lane's state. */
  readonly records: readonly (NewRecord | RecordSeries)[];
  readonly offsets: readonly OffsetCommit[];
}

export function isSeries(record: Pick<NewRecord, 'topic'> | RecordSeries): record is RecordSeries {
  return 'valueAt' in record;
}

/** Runs the work of a transaction, and returns what it collected. Throws any error of `work`, and a `TypeError` if `work` returns a promise. */
export function collectTransaction(work: (tx: LaneTransaction) => void, { name, state }: LaneSpec): TransactionContent {
  const records: (NewRecord | RecordSeries)[] = [];
  const offsets: OffsetCommit[] = [];
  let open = true;
  const assertOpen = (): void => {
    if (!open) throw closedError('This transaction');
  };
  const add = (record: NewRecord | RecordSeries): void => {
    assertFields(record);
    // A record for the state's topic without a partition is checked, too, because its key can select the state's partition.
    const isState = record.topic === state.topic && (record.partition ?? state.partition) === state.partition;
    if (isState) assertState(record, name);
    records.push(record);
  };
  const returned: unknown = work({
    append(more) {
      assertOpen();
      for (const record of more) add(record);
    },
    checkpoint(key, value) {
      assertOpen();
      add({ ...state, key, value });
    },
    commitOffset({ group, topic, partition, nextOffset }) {
      assertOpen();
      offsets.push({ group, topic, partition, nextOffset });
    },
  });
  open = false;
  if (returned instanceof Promise) {
    returned.catch(() => {});
    throw new TypeError(
      `The work of a transaction of lane "${name}" is asynchronous; nothing was written. Await before the transaction, not in it.`,
    );
  }
  return { records, offsets };
}

function assertState(record: NewRecord | RecordSeries, lane: string): void {
  if (isSeries(record)) throw new TypeError(`A series of records can't be state of lane "${lane}": a key has one value.`);
  const { topic, key, value } = record;
  const fields = [...(key instanceof Uint8Array ? ['key'] : []), ...(value instanceof Uint8Array ? ['value'] : [])];
  if (fields.length === 0) return;
  throw new InvalidRecordError({ topic, fields, reason: `has bytes as its ${fields.join(' and ')}. The state of lane "${lane}" is text.` });
}

/** Returns the changes that these records make to a lane's state, in order. Each record must name its partition. */
export function stateChanges(
  records: readonly (NewRecord | RecordSeries)[],
  { topic, partition }: LaneSpec['state'],
): readonly (readonly [key: string, value: string | null])[] {
  const changes: (readonly [key: string, value: string | null])[] = [];
  for (const record of records) {
    if (record.topic !== topic || record.partition !== partition || isSeries(record)) continue;
    const { key, value } = record;
    if (typeof key === 'string' && !(value instanceof Uint8Array)) changes.push([key, value]);
  }
  return changes;
}
