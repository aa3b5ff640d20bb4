import { InvalidRecordError, type RecordRoom, type TopicLog } from '@headgate/topics';
import type { Lane } from './lane.ts';

/** A topic takes smaller records than when the lane was opened. Opened again, the lane knows, and a record that is too large becomes a dead letter. */
export class LaneOutgrownError extends Error {
  override readonly name = 'LaneOutgrownError';
  readonly code = 'HEADGATE_LANE_OUTGROWN';
  readonly retryable = true;

  constructor({ topic, room }: { readonly topic: string; readonly room: RecordRoom }, options?: ErrorOptions) {
    const { bytes, setting } = room;
    const why = setting === undefined ? `${bytes} bytes at most` : `its ${setting.name} is ${setting.value} now`;
    super(`${topic} allows only smaller records than before (${why})`, options);
  }
}

/** Why a lane could not go on: a `LaneOutgrownError` where it wrote records that a topic took when it was opened, else `error` as it is. */
export async function outgrown(error: unknown, { log, lane }: { readonly log: TopicLog; readonly lane: Lane }): Promise<unknown> {
  if (!(error instanceof InvalidRecordError)) return error;
  const { topic } = error;
  const before = lane.room(topic);
  if (before === undefined) return error;
  const room = await log.recordRoom(topic);
  return room.bytes < before.bytes ? new LaneOutgrownError({ topic, room }, { cause: error }) : error;
}
