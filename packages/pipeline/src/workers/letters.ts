import { DEAD_LETTERS, type DeadLetterContent, deadLetter, reasonOf } from '../requests/dead-letter.ts';
import type { NewRecord } from '@headgate/topics';
import { type RequestRecord, requestText } from '../requests/request.ts';
import type { TopicMap } from '../topic.ts';
import type { WorkerContext } from '../worker.ts';

/** A dead letter and the event that tells of it once it is durable. */
export interface Letter {
  readonly record: NewRecord;
  readonly tell: () => void;
}

export interface LetterOptions {
  readonly key: string;
  readonly id: string;
  readonly content: DeadLetterContent;
  readonly error: unknown;
}

type Context = Pick<WorkerContext<never, TopicMap>, 'pipeline' | 'lane' | 'names' | 'clock' | 'emit'>;

export function letter({ pipeline, lane, names, clock, emit }: Context, { key, id, content, error }: LetterOptions): Letter {
  const topic = names(`${pipeline}.${DEAD_LETTERS}`);
  const { partition } = lane;
  const tooLarge = (record: NewRecord): number | undefined => lane.tooLarge(record);
  return {
    record: deadLetter({ pipeline, topic, partition, key, id, content, error, at: clock.epochMs(), tooLarge }),
    tell: () => emit({ type: 'dead-letter', pipeline, topic, key, error: reasonOf(error) }),
  };
}

/** The id of the request at an offset: deterministic, and unique on the log. */
export function requestId({ topic, partition }: { readonly topic: string; readonly partition: number }, offset: number): string {
  return `${topic}-${partition}-${offset}`;
}

/** Writes that a record is no request, and finishes it. */
export async function refuse(context: Context, { key, value, offset }: RequestRecord, error: unknown): Promise<void> {
  const id = requestId(context.lane, offset);
  const { record, tell } = letter(context, { key: key || id, id, content: { requestText: requestText(value) }, error });
  await context.lane.commit({ records: [record], finished: [offset] });
  tell();
}
