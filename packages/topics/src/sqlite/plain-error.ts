import { LaneHeldError, LaneLostError } from '../lane-errors.ts';
import { InvalidRecordError, TopicMismatchError, TopicUnknownError } from '../topic-errors.ts';
import { TopicLogError } from '../topic-log-error.ts';

/** By the `name` of their errors, because a bundler can rename classes. */
const CLASSES: Readonly<Record<string, { readonly prototype: TopicLogError }>> = {
  InvalidRecordError,
  LaneHeldError,
  LaneLostError,
  TopicLogError,
  TopicMismatchError,
  TopicUnknownError,
};

/** An error without its class, which passing it to another thread would remove. */
export interface PlainError {
  readonly message: string;
  /** Message of its cause. */
  readonly cause: string | undefined;
  readonly name: string;
  /** Its own fields, such as `code`. */
  readonly details: Readonly<Record<string, unknown>>;
}

export function plainError(error: TopicLogError): PlainError {
  const { name, message, cause } = error;
  return { name, message, cause: cause instanceof Error ? cause.message : undefined, details: Object.fromEntries(Object.entries(error)) };
}

/** Rebuilds the error with its class. */
export function rebuiltError({ name, message, cause, details }: PlainError): Error {
  const error = new Error(message, cause === undefined ? undefined : { cause: new Error(cause) });
  return Object.setPrototypeOf(Object.assign(error, details), (CLASSES[name] ?? TopicLogError).prototype) as Error;
}
