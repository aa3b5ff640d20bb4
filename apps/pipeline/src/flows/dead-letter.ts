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
  readonly content: { readonly request: unknown } | { readonly record: unknown };
  readonly error: unknown;
  /** Epoch ms. */
  readonly at: number;
}

/** The record of a dead letter. */
export function deadLetter({ topic, partition, key, id, content, error, at }: DeadLetterOptions): NewRecord {
  const time = new Date(at).toISOString();
  return {
    topic,
    partition,
    key,
    value: JSON.stringify({ ...content, error: reasonOf(error), at: time }),
    headers: cloudEventHeaders({ topic, id, time }),
  };
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
