import { type NewRecord, TopicLogError } from '@headgate/topics';
import { type Lane, recordBytes } from '../engine/lane.ts';
import { PipelineError } from '../definition/pipeline-error.ts';
import { isSourceError } from '../definition/thrown.ts';

/** True when a request failed because its source was stopped. */
export function isStop(error: unknown): boolean {
  return isSourceError(error) && (error.code === 'HEADGATE_STOPPED' || error.code === 'HEADGATE_CLOSED');
}

/** True when no credential is left, so that every further request fails. */
export function endsSource(error: unknown): boolean {
  return isSourceError(error) && error.endsSource;
}

/** True when the log failed, so that its lane can't go on. */
export function endsLane(error: unknown): boolean {
  return error instanceof TopicLogError;
}

export interface RecordTooLargeOptions {
  readonly pipeline: string;
  readonly key: string;
  readonly record: NewRecord;
  /** Bytes that its topic takes. */
  readonly limit: number;
  readonly lane: Pick<Lane, 'room'>;
  /** Which of the request's records it is: `page 28`. Default `its record`. */
  readonly which?: string;
  /** Another way to have room for it: `take smaller pages`. */
  readonly orElse?: string | undefined;
}

/** The error of a record that its topic doesn't take: it ends one request, not the lane. */
export function recordTooLarge(options: RecordTooLargeOptions): PipelineError {
  const { pipeline, key, record, limit, lane, which = 'its record', orElse } = options;
  const { topic } = record;
  const bytes = recordBytes(record);
  const setting = lane.room(topic)?.setting;
  const or = orElse === undefined ? '' : `, or ${orElse}`;
  const cure =
    setting === undefined
      ? `It can't be stored there${or}.`
      : `Its ${setting.name} is ${setting.value}: set that to ${setting.neededFor(bytes)} or more${or}, then put the job back with \`headgate replay\`.`;
  const message = `${key}: ${which} needs ${bytes} bytes, more than ${topic} takes (${limit} bytes). ${cure}`;
  return new PipelineError({ code: 'HEADGATE_RECORD_TOO_LARGE', message, pipeline, key });
}
