import type { NewRecord, RecordSeries } from '@headgate/topics';
import { PipelineError } from '../settings/pipeline-error.ts';
import { assertField } from '../topics/topic.ts';
import { guard, synchronous } from '../topics/user-function.ts';
import { type Lane, recordBytes } from './lane.ts';

/** The job that the records belong to, and the lane that writes them. */
export interface RecordSizeOptions {
  readonly pipeline: string;
  readonly key: string;
  readonly lane: Pick<Lane, 'recordLimit' | 'tooLarge'>;
  /** The error's words for the record that is too large, such as `page 28`. Default: `its record`. */
  readonly which?: string;
}

/**
 * Returns the records unchanged. Throws a `PipelineError` (HEADGATE_RECORD_TOO_LARGE) if one exceeds the limit of its topic. This error
 * ends one job, while the log's own error would end the lane.
 */
export function assertRecordSize(
  records: readonly (NewRecord | RecordSeries)[],
  options: RecordSizeOptions,
): readonly (NewRecord | RecordSeries)[] {
  for (const given of records) {
    const record = 'valueAt' in given ? largeOf(given, options) : given;
    const limit = record && options.lane.tooLarge(record);
    if (record !== undefined && limit !== undefined) throw tooLarge(record, limit, options);
  }
  return records;
}

function tooLarge(record: NewRecord, limit: number, { pipeline, key, lane, which = 'its record' }: RecordSizeOptions): PipelineError {
  const { topic } = record;
  const bytes = recordBytes(record);
  const setting = lane.recordLimit(topic)?.setting;
  const cure =
    setting === undefined
      ? "It can't be stored there."
      : `Raise its ${setting.name} from ${setting.value} to at least ${setting.neededFor(bytes)}, then restart the run and re-enqueue the job with \`headgate replay\`.`;
  const message = `${key}: ${which} needs ${bytes} bytes, but ${topic} accepts at most ${limit} bytes. ${cure}`;
  return new PipelineError({ code: 'HEADGATE_RECORD_TOO_LARGE', message, pipeline, key });
}

/**
 * Returns the largest record of a series. Returns undefined if even the longest text can't exceed the topic's limit: that check avoids
 * counting the bytes of thousands of texts.
 */
function largeOf(series: RecordSeries, options: RecordSizeOptions): NewRecord | undefined {
  const { topic, key, count, valueAt, parts } = series;
  const { partAt = valueAt, before = '', after = '' } = parts ?? {};
  const { bytes = Infinity } = options.lane.recordLimit(topic) ?? {};
  return guard({ pipeline: options.pipeline, name: 'records' }, synchronous, () => {
    let longest = 0;
    for (let i = 0; i < count; i += 1) {
      const part = partAt(i);
      assertField(topic, 'value', part);
      longest = Math.max(longest, part.length);
    }
    const units = (key?.length ?? 0) + before.length + longest + after.length;
    return MAX_BYTES_OF_A_UNIT * units <= bytes ? undefined : largestOf(series);
  });
}

/** Maximum UTF-8 bytes per UTF-16 code unit. */
const MAX_BYTES_OF_A_UNIT = 3;

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
