import type { NewRecord, RecordSeries } from '@headgate/topics';
import { recordTooLarge } from '../dead-letters/endings.ts';
import type { Lane } from './lane.ts';
import { assertField } from '../definition/topic.ts';
import { callUser } from '../definition/user-function.ts';

export interface FittingOptions {
  readonly pipeline: string;
  readonly key: string;
  readonly lane: Pick<Lane, 'room' | 'tooLarge'>;
  /** The function of the definition that made them: `records`. */
  readonly name: string;
  /** As in `recordTooLarge`. */
  readonly which?: string;
  readonly orElse?: string | undefined;
}

/** The records as they are. Throws a `PipelineError` for one that its topic doesn't take: it ends one request, where the log would end the lane. */
export function fitting(records: readonly (NewRecord | RecordSeries)[], options: FittingOptions): readonly (NewRecord | RecordSeries)[] {
  for (const one of records) {
    const record = 'valueAt' in one ? largeOf(one, options) : one;
    const limit = record && options.lane.tooLarge(record);
    if (record !== undefined && limit !== undefined) throw recordTooLarge({ ...options, record, limit });
  }
  return records;
}

/** The largest record of a series; undefined where all are smaller than what its topic takes by far: thousands of texts need not be counted then. */
function largeOf(series: RecordSeries, options: FittingOptions): NewRecord | undefined {
  const { topic, key, count, valueAt, parts } = series;
  const { partAt = valueAt, before = '', after = '' } = parts ?? {};
  const { bytes = Infinity } = options.lane.room(topic) ?? {};
  return callUser({ pipeline: options.pipeline, key: options.key, name: options.name }, () => {
    let longest = 0;
    for (let i = 0; i < count; i += 1) {
      const one = partAt(i);
      assertField(topic, 'value', one);
      longest = Math.max(longest, one.length);
    }
    const units = (key?.length ?? 0) + before.length + longest + after.length;
    return MOST_BYTES_OF_A_UNIT * units <= bytes ? undefined : largestOf(series);
  });
}

/** In UTF-8, of UTF-16. */
const MOST_BYTES_OF_A_UNIT = 3;

function largestOf({ topic, key, count, valueAt, parts }: RecordSeries): NewRecord {
  const partAt = parts?.partAt ?? valueAt;
  let largest = 0;
  let mostBytes = 0;
  for (let i = 0; i < count; i += 1) {
    const bytes = Buffer.byteLength(partAt(i));
    if (bytes > mostBytes) [largest, mostBytes] = [i, bytes];
  }
  return { topic, key, value: count > 0 ? valueAt(largest) : '' };
}
