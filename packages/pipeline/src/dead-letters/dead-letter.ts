import type { NewRecord } from '@headgate/topics';
import { digest } from '../lists/digest.ts';
import type { Reason } from '../view/events.ts';
import { eventHeaders } from '../definition/topic.ts';
import { RESUME } from '../definition/request.ts';
import { readable, textOf } from '../definition/thrown.ts';

/** The reason in a dead letter: every error class of Headgate has these. */
export interface DeadLetterReason extends Reason {
  readonly retryable: boolean;
}

export interface DeadLetterOptions {
  readonly pipeline: string;
  /** The dead-letters topic. */
  readonly topic: string;
  readonly partition: number;
  readonly key: string;
  /** Unique and deterministic, so it is the same if written again. */
  readonly id: string;
  readonly content: DeadLetterContent;
  readonly error: unknown;
  /** Epoch ms. */
  readonly at: number;
  /** Headers in addition to those of every dead letter. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Where the replay of a walk continues. Default: at its start. */
  readonly resume?: string | undefined;
  /** Maximum bytes in its topic, if the record exceeds them. */
  readonly tooLarge: (record: NewRecord) => number | undefined;
}

/** The name of each pipeline's topic of dead letters, within the pipeline. */
export const DEAD_LETTERS = 'dead-letters';

/** Limits of a dead letter that must be short. Quoted as JSON, a byte may become six. */
const MAX_BYTES = { key: 500, message: 500, id: 100, code: 100 } as const;

/** A request, or its unchanged JSON text, or its bytes if it isn't text, or a record that can't be processed. */
export type DeadLetterContent =
  | { readonly request: unknown }
  | { readonly requestText: string }
  | { readonly requestBytes: Uint8Array }
  | { readonly record: unknown };

/** A record of text. */
export interface DeadLetterRecord extends NewRecord {
  readonly key: string;
  readonly value: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The record of a dead letter. It omits content that is too large, and says so, so that the reason isn't lost with it. Such a dead letter
 * has less than 6 kB for every key, ID and reason.
 */
export function deadLetter(options: DeadLetterOptions): DeadLetterRecord {
  const whole = deadLetterRecord(options, options.content);
  const limit = options.tooLarge(whole);
  if (limit === undefined) return whole;
  const { code, message, retryable } = reasonOf(options.error);
  const id = shortId(options.id);
  const error = {
    code: shortened(code, MAX_BYTES.code),
    retryable,
    message: `${shortened(message, MAX_BYTES.message)} (The job is omitted, because ${options.topic} accepts at most ${limit} bytes. It is ${id}.)`,
  };
  return deadLetterRecord({ ...options, resume: undefined, key: shortened(options.key, MAX_BYTES.key), id, error }, { request: null });
}

/** The ID. A long ID is cut and gets a digest of the complete ID, so that different IDs stay different. */
function shortId(id: string): string {
  const short = shortened(id, MAX_BYTES.id);
  return short === id ? id : `${short}${digest(id, 22)}`;
}

/** The text in at most `bytes` bytes of UTF-8, cut between characters, then `…` if it was cut. */
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
    headers: { ...eventHeaders({ pipeline, name: DEAD_LETTERS, id, time }), ...(resume !== undefined && { [RESUME]: resume }), ...headers },
  };
}

function contentText(content: DeadLetterContent): string {
  if ('requestText' in content) return `"request":${content.requestText}`;
  if ('requestBytes' in content) return `"request":null,"requestBase64":"${Buffer.from(content.requestBytes).toString('base64')}"`;
  return JSON.stringify(content).slice(1, -1);
}

/** Reads `code`, `message` and `retryable` of an error of any package. */
export function reasonOf(error: unknown): DeadLetterReason {
  const read = readable(error);
  const { code, message, retryable } = Object(read) as Partial<Record<'code' | 'message' | 'retryable', unknown>>;
  return {
    code: typeof code === 'string' ? code : 'HEADGATE_UNEXPECTED',
    message: typeof message === 'string' ? message : textOf(read),
    retryable: retryable === true,
  };
}
