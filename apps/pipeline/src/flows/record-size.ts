import { SourceError } from '@headgate/sources';
import type { NewRecord } from '@headgate/topics';
import { type Lane, recordBytes } from '../lanes/lane.ts';

export interface RecordSubject {
  readonly service: string;
  /** Whom the request was about. */
  readonly subject: string;
  /** Which of its records it is, e.g. `page 28`. Default `its record`. */
  readonly record?: string;
  /** Other ways to have room for it, e.g. `, or lower books.pageSize`. */
  readonly orElse?: string;
}

/** Throws a `SourceError` (HEADGATE_RECORD_TOO_LARGE) for a record that its topic doesn't take: it ends one request, not the lane. */
export function assertFits(
  records: readonly NewRecord[],
  lane: Pick<Lane, 'tooLarge' | 'room'>,
  { service, subject, record: which = 'its record', orElse = '' }: RecordSubject,
): void {
  for (const record of records) {
    const limit = lane.tooLarge(record);
    if (limit === undefined) continue;
    const bytes = recordBytes(record);
    const setting = lane.room(record.topic)?.setting;
    const cure =
      setting === undefined
        ? `It can not be kept there${orElse}.`
        : `Its ${setting.name} is ${setting.value}: set that to ${setting.neededFor(bytes)} or more${orElse}, then put the request back with \`headgate replay\`.`;
    const message = `${subject}: ${which} needs ${bytes} bytes, more than ${record.topic} takes (${limit} bytes). ${cure}`;
    throw new SourceError({ code: 'HEADGATE_RECORD_TOO_LARGE', retryable: false, service, subject, message });
  }
}
