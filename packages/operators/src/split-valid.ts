import { type Transform, transform } from '@headgate/throttle';

/** Checks a record: a function that returns the checked record or throws, or a schema with `safeParse`, such as one of zod's. */
export type Validator<In, Out> = ((record: In) => Out) | SafeParser<Out>;

/** The part of a schema that `splitValid` uses. */
export interface SafeParser<Out> {
  /** Checks a value without throwing. */
  safeParse(value: unknown): { readonly success: true; readonly data: Out } | { readonly success: false; readonly error: SchemaFailure };
}

/** A schema's error for a value that doesn't fit. */
export interface SchemaFailure {
  /** Message of the error, used for the dead record if there are no issues. */
  readonly message: string;
  /** The places that don't fit. The message of the dead record lists the first five. */
  readonly issues?: readonly { readonly message: string; readonly path: readonly PropertyKey[] }[];
}

/** A record that can't be processed, with the reason. */
export interface Dead<In> {
  /** The unchanged record. */
  readonly record: In;
  /**
   * Why the record is dead. `code` and `retryable` are those of a thrown error that has them. Default: `HEADGATE_INVALID_RECORD` and false.
   */
  readonly error: { readonly code: string; readonly message: string; readonly retryable: boolean };
}

/** A record that is valid, or one that is dead. */
export type Checked<In, Out> = { readonly ok: true; readonly value: Out } | { readonly ok: false; readonly dead: Dead<In> };

/**
 * Separates valid records from dead ones in one stream, in the order of the records. A dead record doesn't end the stream.
 *
 * *Emits when* a record arrives: the validated record, or the record with the reason why it is dead.
 * *Backpressures when* never.
 * *Completes when* the records complete.
 * *Cancels when* downstream cancels.
 */
export function splitValid<In, Out>(validate: Validator<In, Out>): Transform<In, Checked<In, Out>> {
  return transform<In, Checked<In, Out>>({ name: 'splitValid', open: () => ({ next: (record) => [checked(record, validate)] }) });
}

function checked<In, Out>(record: In, validate: Validator<In, Out>): Checked<In, Out> {
  try {
    if (typeof validate === 'function') {
      return { ok: true, value: validate(record) };
    }
    const result = validate.safeParse(record);
    return result.success ? { ok: true, value: result.data } : dead(record, { message: schemaMessage(result.error) });
  } catch (error) {
    return dead(record, typeof error === 'object' && error !== null ? error : { message: String(error) });
  }
}

const UNKNOWN_CODE = 'HEADGATE_INVALID_RECORD';

function dead<In>(record: In, error: { code?: unknown; message?: unknown; retryable?: unknown }): Checked<In, never> {
  const { code, message, retryable } = error;
  return {
    ok: false,
    dead: {
      record,
      error: {
        code: typeof code === 'string' && code !== '' ? code : UNKNOWN_CODE,
        message: typeof message === 'string' && message !== '' ? message : 'The record is invalid, and its check gave no reason.',
        retryable: typeof retryable === 'boolean' ? retryable : false,
      },
    },
  };
}

/** Maximum number of issues in a message. A record can have thousands. */
const MAX_ISSUES = 5;

function schemaMessage({ message, issues = [] }: SchemaFailure): string {
  const shown = issues
    .slice(0, MAX_ISSUES)
    .map((issue) => (issue.path.length === 0 ? issue.message : `${issue.path.map(String).join('.')}: ${issue.message}`));
  const more = issues.length - shown.length;
  return shown.length === 0 ? message : `${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}
