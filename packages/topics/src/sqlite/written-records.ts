import { fieldValue, textOf } from '../record-fields.ts';
import type { NewRecord, RecordPosition, RecordSeries } from '../topic-log.ts';
import { isSeries } from '../transaction-content.ts';
import { headersJson } from './headers-json.ts';
import { type SeriesValues, packed } from './series-values.ts';
import type { NewEntries } from './worker-protocol.ts';

/**
 * Limits of a row that packs a series. The row ends with the record that reaches either limit. The limits are low because a reader that starts
 * within a row reads all of it.
 */
const ROW_RECORDS = 10_000;
const ROW_CHARACTERS = 1_000_000;

/** Records of one write, as lists for the log's thread. */
export class WrittenRecords {
  readonly entries: NewEntries = { topics: [], partitions: [], keys: [], values: [], headers: [] };
  /** For each record or series, the index of its first entry. */
  readonly #first: number[] = [];

  constructor(records: readonly (NewRecord | RecordSeries)[]) {
    for (const record of records) this.#add(record);
  }

  get topics(): ReadonlySet<string> {
    return new Set(this.entries.topics);
  }

  /** Returns the positions of the records; for a series, the position of its first record. `pairs`: partition and offset of each entry. */
  positions(pairs: Float64Array): readonly RecordPosition[] {
    return this.#first.map((entry) => ({
      topic: this.entries.topics[entry] ?? '',
      partition: pairs[2 * entry] ?? 0,
      offset: pairs[2 * entry + 1] ?? 0,
    }));
  }

  #add(record: NewRecord | RecordSeries): void {
    const { topics, partitions, keys, values, headers } = this.entries;
    this.#first.push(topics.length);
    // Store UTF-8 bytes as text, because a compacted topic must treat the text and its bytes as the same key.
    const key = record.key instanceof Uint8Array ? (textOf(record.key) ?? own(record.key)) : record.key;
    const json = headersJson(record.headers);
    for (const value of isSeries(record) ? seriesValues(record) : [record.value]) {
      topics.push(record.topic);
      partitions.push(record.partition ?? null);
      keys.push(key);
      values.push(value instanceof Uint8Array ? own(value) : value);
      headers.push(json);
    }
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
