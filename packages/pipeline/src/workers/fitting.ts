import type { NewRecord, RecordSeries } from '@headgate/topics';
import { callUser, recordTooLarge } from '../endings.ts';
import type { Lane } from '../lane/lane.ts';
import { assertField } from '../topic.ts';

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
    const record = 'valueAt' in one ? largestOf(one, options) : one;
    const limit = options.lane.tooLarge(record);
    if (limit !== undefined) throw recordTooLarge({ ...options, record, limit });
  }
  return records;
}

/** The record of a series that has the longest value. */
function largestOf({ topic, key, count, valueAt, parts }: RecordSeries, { pipeline, key: of, name }: FittingOptions): NewRecord {
  return callUser({ pipeline, key: of, name }, () => {
    const partAt = parts?.partAt ?? valueAt;
    let largest = 0;
    let mostBytes = 0;
    for (let i = 0; i < count; i += 1) {
      const one = partAt(i);
      assertField(topic, 'value', one);
      const bytes = Buffer.byteLength(one);
      if (bytes > mostBytes) [largest, mostBytes] = [i, bytes];
    }
    return { topic, key, value: count > 0 ? valueAt(largest) : '' };
  });
}
