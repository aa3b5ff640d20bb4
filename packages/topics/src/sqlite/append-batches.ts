import { fieldValue, textOf } from '../record-fields.ts';
import type { NewRecord, RecordPosition, RecordSeries } from '../topic-log.ts';
import { isSeries } from '../transaction-content.ts';
import { headersJson } from './headers-json.ts';
import { type SeriesValues, packed } from './series-values.ts';
import type { AppendBatch } from './worker-protocol.ts';

/**
 * Limits of a row that packs a series. The row ends with the record that reaches either limit. The limits are low because a reader that starts
 * within a row reads all of it.
 */
const ROW_RECORDS = 10_000;
const ROW_CHARACTERS = 1_000_000;

/** Collects records as lists per topic, in call order. Lists are far cheaper to pass to a thread than objects. */
export class AppendBatches {
  readonly #batches = new Map<string, AppendBatch>();
  /** For each added record or series, its batch and the index of its first entry there. */
  readonly #entries: { readonly batch: AppendBatch; readonly at: number }[] = [];
  #last: AppendBatch | undefined;

  get list(): readonly AppendBatch[] {
    return [...this.#batches.values()];
  }

  get topics(): ReadonlySet<string> {
    return new Set(this.#batches.keys());
  }

  add(record: NewRecord | RecordSeries): void {
    const batch = this.#find(record.topic);
    this.#entries.push({ batch, at: batch.values.length });
    const partition = record.partition ?? null;
    // Store UTF-8 bytes as text, because a compacted topic must treat the text and its bytes as the same key.
    const key = record.key instanceof Uint8Array ? (textOf(record.key) ?? own(record.key)) : record.key;
    const headers = headersJson(record.headers);
    for (const value of isSeries(record) ? seriesValues(record) : [record.value]) {
      batch.partitions.push(partition);
      batch.keys.push(key);
      batch.values.push(value instanceof Uint8Array ? own(value) : value);
      batch.headers.push(headers);
    }
  }

  /**
   * Returns the positions of the records in the order in which they were added; for a series, the position of its first record. `pairs`: the
   * partitions and offsets of all entries, one batch after another.
   */
  positions(pairs: Float64Array): readonly RecordPosition[] {
    const starts = new Map<AppendBatch, number>();
    let start = 0;
    for (const batch of this.list) {
      starts.set(batch, start);
      start += batch.values.length;
    }
    return this.#entries.map(({ batch, at }) => {
      const pair = 2 * ((starts.get(batch) ?? 0) + at);
      return { topic: batch.topic, partition: pairs[pair] ?? 0, offset: pairs[pair + 1] ?? 0 };
    });
  }

  /** Returns the batch of a topic. A topic has only one batch, because with two, records of one partition could change their order. */
  #find(topic: string): AppendBatch {
    if (this.#last?.topic === topic) return this.#last;
    let batch = this.#batches.get(topic);
    if (batch === undefined) this.#batches.set(topic, (batch = { topic, partitions: [], keys: [], values: [], headers: [] }));
    this.#last = batch;
    return batch;
  }
}

/** The values of a series, with runs of texts packed. For values in parts, only the varying part is built and compared. */
function* seriesValues({ topic, count, valueAt, parts }: RecordSeries): Generator<string | Uint8Array | SeriesValues> {
  // Use the parts only if a surrogate pair can't lie half in a fixed part and half in the varying one.
  const inParts = parts !== undefined && parts.before.isWellFormed() && parts.after.isWellFormed() ? parts : undefined;
  const { before, partAt, after } = inParts ?? { before: '', partAt: valueAt, after: '' };
  let texts: string[] = [];
  let characters = 0;
  for (let index = 0; index < count; index++) {
    const value = fieldValue(topic, partAt(index));
    if (typeof value === 'string') {
      // Replace lone surrogates, as encoding in UTF-8 does.
      texts.push(value.toWellFormed());
      characters += before.length + value.length + after.length;
      if (texts.length < ROW_RECORDS && characters < ROW_CHARACTERS) continue;
    }
    yield* packedOrEach(before, texts, after);
    [texts, characters] = [[], 0];
    if (typeof value !== 'string') yield value;
  }
  yield* packedOrEach(before, texts, after);
}

function packedOrEach(before: string, texts: readonly string[], after: string): Iterable<string | SeriesValues> {
  const values = packed(texts);
  if (values === undefined) return texts.map((text) => before + text + after);
  return [{ ...values, prefix: before + values.prefix, suffix: values.suffix + after }];
}

/** Copies bytes. If they are part of a larger array, passing them to the thread uncopied would copy the whole array. */
function own(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}
