import type { NewRecord } from '@headgate/topics';
import { cloudEventHeaders } from './cloud-event.ts';

/** What a dead letter says of its reason: every error class of Headgate has these. */
export interface DeadLetterReason {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
}

export interface DeadLetterOptions {
  readonly topic: string;
  readonly partition: number;
  readonly key: string;
  /** Unique and deterministic: written again it is the same. */
  readonly id: string;
  /** The wish, or the record, that can't be processed. */
  readonly content: DeadLetterContent;
  readonly error: unknown;
  /** Epoch ms. */
  readonly at: number;
  /** The most bytes its topic takes, where a record has more. */
  readonly tooLarge: (record: NewRecord) => number | undefined;
}

const LONGEST_TEXT = 500;

/** A wish, or its JSON text as it stands, or a record. */
export type DeadLetterContent = { readonly request: unknown } | { readonly requestText: string } | { readonly record: unknown };

/** The record of a dead letter. What is too large to be kept is left out, and said so: the reason must not be lost with it. */
export function deadLetter(options: DeadLetterOptions): NewRecord {
  const letter = letterRecord(options, options.content);
  const limit = options.tooLarge(letter);
  if (limit === undefined) return letter;
  const { error, id } = options;
  const { code, message, retryable } = reasonOf(error);
  const left = {
    code,
    retryable,
    message: `${shortened(message)} (What it is about is left out: ${options.topic} takes ${limit} bytes. It is ${id}.)`,
  };
  return letterRecord({ ...options, key: shortened(options.key), error: left }, { request: null });
}

function shortened(text: string): string {
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
}

function letterRecord({ topic, partition, key, id, error, at }: DeadLetterOptions, content: DeadLetterContent): NewRecord {
  const time = new Date(at).toISOString();
  return {
    topic,
    partition,
    key,
    value: `{${contentText(content)},${JSON.stringify({ error: reasonOf(error), at: time }).slice(1)}`,
    headers: cloudEventHeaders({ topic, id, time }),
  };
}

function contentText(content: DeadLetterContent): string {
  if ('requestText' in content) return `"request":${content.requestText}`;
  return JSON.stringify(content).slice(1, -1);
}

/** Reads `code`, `message` and `retryable` of an error, whichever room it comes from. */
export function reasonOf(error: unknown): DeadLetterReason {
  const { code, message, retryable } = error as Partial<Record<'code' | 'message' | 'retryable', unknown>>;
  return {
    code: typeof code === 'string' ? code : 'HEADGATE_UNEXPECTED',
    message: typeof message === 'string' ? message : String(error),
    retryable: retryable === true,
  };
}
