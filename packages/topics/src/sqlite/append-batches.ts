import { fieldValue, textOf } from '../record-fields.ts';
import { headersJson } from './headers-json.ts';
import type { NewRecord, RecordPosition, RecordSeries } from '../topic-log.ts';
import { isSeries } from '../transaction-content.ts';
import type { AppendBatch } from './worker-protocol.ts';

/** Records as lists per topic, in the order they came: far cheaper to hand to a thread than 5,000 objects. */
export class AppendBatches {
  readonly #batches = new Map<string, AppendBatch>();
  readonly #batchOf: AppendBatch[] = [];
  #last: AppendBatch | undefined;

  get list(): readonly AppendBatch[] {
    return [...this.#batches.values()];
  }

  add(record: NewRecord | RecordSeries): void {
    const batch = this.#find(record.topic);
    const partition = record.partition ?? null;
    // As text where it is text: the same bytes are the same key to a compacted topic.
    const key = record.key instanceof Uint8Array ? (textOf(record.key) ?? own(record.key)) : record.key;
    const headers = headersJson(record.headers);
    const count = isSeries(record) ? record.count : 1;
    for (let index = 0; index < count; index += 1) {
      batch.partitions.push(partition);
      batch.keys.push(key);
      const value = isSeries(record) ? fieldValue(record.topic, record.valueAt(index)) : record.value;
      batch.values.push(value instanceof Uint8Array ? own(value) : value);
      batch.headers.push(headers);
      this.#batchOf.push(batch);
    }
  }

  /** The records' positions in the order they were added; `pairs` are the batches' partitions and offsets, one batch after the other. */
  positions(pairs: Float64Array): readonly RecordPosition[] {
    const next = new Map<AppendBatch, number>();
    let start = 0;
    for (const batch of this.list) {
      next.set(batch, start);
      start += batch.keys.length;
    }
    return this.#batchOf.map((batch) => {
      const at = next.get(batch) ?? 0;
      next.set(batch, at + 1);
      return { topic: batch.topic, partition: pairs[at * 2] ?? 0, offset: pairs[at * 2 + 1] ?? 0 };
    });
  }

  /** One batch a topic, whatever partitions its records name: in two, those of one partition could change their order. */
  #find(topic: string): AppendBatch {
    if (this.#last?.topic === topic) return this.#last;
    let batch = this.#batches.get(topic);
    if (batch === undefined) this.#batches.set(topic, (batch = { topic, partitions: [], keys: [], values: [], headers: [] }));
    this.#last = batch;
    return batch;
  }
}

/** A part of a larger array would take all of that to the thread. */
function own(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}
