import { SourceError } from '@headgate/sources';
import type { NewRecord } from '@headgate/topics';
import type { Lane } from '../lanes/lane.ts';

/** Throws a `SourceError` (HEADGATE_RECORD_TOO_LARGE) for a record that its topic doesn't take: it ends one request, not the lane. */
export function assertFits(
  records: readonly NewRecord[],
  lane: Pick<Lane, 'tooLarge'>,
  { orElse = '', ...about }: { readonly service: string; readonly subject: string; readonly orElse?: string },
): void {
  for (const record of records) {
    const limit = lane.tooLarge(record);
    if (limit === undefined) continue;
    const message =
      `${about.subject}: its record is larger than ${record.topic} takes (${limit} bytes). ` +
      `Raise the topic's max.message.bytes${orElse}, then put the request back with \`headgate replay\`.`;
    throw new SourceError({ code: 'HEADGATE_RECORD_TOO_LARGE', retryable: false, ...about, message });
  }
}
