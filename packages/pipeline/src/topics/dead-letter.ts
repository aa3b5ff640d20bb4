import type { NewRecord } from '@headgate/topics';
import { digest } from './digest.ts';
import type { Reason } from '../events/events.ts';
import { eventHeaders } from './topic.ts';
import { RESUME } from './job.ts';
import { readable, textOf } from '../settings/thrown.ts';

/** The `error` in a dead letter's value. */
export interface DeadLetterReason extends Reason {
  readonly retryable: boolean;
}

export interface DeadLetterOptions {
  readonly pipeline: string;
  readonly topic: string;
  readonly partition: number;
  readonly key: string;
  /** ID of the dead letter. It is unique, and the same if the dead letter is written again. */
  readonly id: string;
  readonly content: DeadLetterContent;
  readonly error: unknown;
  /** Time of the dead letter, epoch ms. */
  readonly at: number;
  /** Headers in addition to those of every dead letter. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Where a replay continues the walk, as JSON. Default: a replay starts over. */
  readonly resume?: string | undefined;
  /** Returns the maximum size of a record in its topic, in bytes, if this record exceeds it; otherwise undefined. */
  readonly tooLarge: (record: NewRecord) => number | undefined;
}

/** Name of each pipeline's dead-letters topic, within the pipeline. */
export const DEAD_LETTERS = 'dead-letters';

/** Bytes that a shortened dead letter keeps of each part. In JSON, a byte can take six. */
const MAX_BYTES = { key: 500, message: 500, id: 100, code: 100 } as const;

/** The content of a dead letter: a request, its unchanged JSON, its bytes if it isn't text, or another record that can't be processed, with its request. */
export type DeadLetterContent =
  | { readonly request: unknown }
  | { readonly jobText: string }
  | { readonly jobBytes: Uint8Array }
  | { readonly record: unknown; readonly jobText?: string };

/** Name of the header of a dead letter whose part is held: the part's key in the lane's state, without `held/`. */
export const HELD = 'headgate-held';

export interface DeadLetterRecord extends NewRecord {
  readonly key: string;
  readonly value: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Creates the record of a dead letter. If the record is too large for its topic, omits the content, shortens the reason, and says so in the
 * message. A shortened record has less than 6 kB.
 */
export function deadLetter(options: DeadLetterOptions): DeadLetterRecord {
  const whole = deadLetterRecord(options, options.content);
  const limit = options.tooLarge(whole);
  if (limit === undefined) return whole;
  const { content } = options;
  // The job of a part is enough to replay it.
  if ('record' in content && content.jobText !== undefined) {
    const { code, message, retryable } = reasonOf(options.error);
    const error = {
      code,
      retryable,
      message: `${message} (The record is omitted, because ${options.topic} accepts at most ${limit} bytes.)`,
    };
    return deadLetter({ ...options, content: { jobText: content.jobText }, error });
  }
  const { code, message, retryable } = reasonOf(options.error);
  const id = shortId(options.id);
  const error = {
    code: shortened(code, MAX_BYTES.code),
    retryable,
    message: `${shortened(message, MAX_BYTES.message)} (The job is omitted, because ${options.topic} accepts at most ${limit} bytes. It is ${id}.)`,
  };
  return deadLetterRecord({ ...options, resume: undefined, key: shortened(options.key, MAX_BYTES.key), id, error }, { request: null });
}

/** Returns the ID. Cuts a long ID, and appends a digest of the complete one, so that different IDs stay different. */
function shortId(id: string): string {
  const short = shortened(id, MAX_BYTES.id);
  return short === id ? id : `${short}${digest(id, 22)}`;
}

/** Returns the start of a text in at most `bytes` bytes of UTF-8, cut between characters. Appends `…` if it was cut. */
function shortened(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return read === text.length ? text : `${text.slice(0, read)}…`;
}

function deadLetterRecord(
  { pipeline, topic, partition, key, id, error, at, resume, headers }: DeadLetterOptions,
  content: DeadLetterContent,
): DeadLetterRecord {
  const time = new Date(at).toISOString();
  return {
    topic,
    partition,
    key,
    value: `{${contentText(content)},${JSON.stringify({ error: reasonOf(error), at: time }).slice(1)}`,
    headers: { ...eventHeaders(pipeline, DEAD_LETTERS, id, { time }), ...(resume !== undefined && { [RESUME]: resume }), ...headers },
  };
}

function contentText(content: DeadLetterContent): string {
  if ('record' in content) {
    const { jobText, record } = content;
    return `${jobText === undefined ? '' : `"request":${jobText},`}${JSON.stringify({ record }).slice(1, -1)}`;
  }
  if ('jobText' in content) return `"request":${content.jobText}`;
  if ('jobBytes' in content) return `"request":null,"requestBase64":"${Buffer.from(content.jobBytes).toString('base64')}"`;
  return JSON.stringify(content).slice(1, -1);
}

/** Reads `code`, `message` and `retryable` of an error of any package. Other values get the code `HEADGATE_UNEXPECTED`. */
export function reasonOf(error: unknown): DeadLetterReason {
  const read = readable(error);
  const { code, message, retryable } = Object(read) as Partial<Record<'code' | 'message' | 'retryable', unknown>>;
  return {
    code: typeof code === 'string' ? code : 'HEADGATE_UNEXPECTED',
    message: typeof message === 'string' ? message : textOf(read),
    retryable: retryable === true,
  };
}
