/** The codes of the sources themselves; the README explains each. A definition can add its own codes. */
export type SourceErrorCode =
  | 'HEADGATE_AMBIGUOUS'
  | 'HEADGATE_AUTHENTICATION_BAD'
  | 'HEADGATE_AUTHENTICATION_FAILED'
  | 'HEADGATE_AUTHOR_NOT_FOUND'
  | 'HEADGATE_BAD_REQUEST'
  | 'HEADGATE_BATCH_REFUSED'
  | 'HEADGATE_BOOK_NOT_FOUND'
  | 'HEADGATE_CLASSIFY'
  | 'HEADGATE_CLOCK_WRONG'
  | 'HEADGATE_CLOSED'
  | 'HEADGATE_CREDENTIAL_FORBIDDEN'
  | 'HEADGATE_CREDENTIAL_LOCKED'
  | 'HEADGATE_CREDENTIAL_SHARED'
  | 'HEADGATE_CREDENTIAL_SUSPENDED'
  | 'HEADGATE_CREDENTIAL_UNUSABLE'
  | 'HEADGATE_CURSOR_LOOP'
  | 'HEADGATE_DEFINITION'
  | 'HEADGATE_EMPTY_PAGES'
  | 'HEADGATE_FAILURES_IN_A_ROW'
  | 'HEADGATE_FORBIDDEN'
  | 'HEADGATE_FOREIGN_ADDRESS'
  | 'HEADGATE_GAVE_UP'
  | 'HEADGATE_INVALID_ISBN'
  | 'HEADGATE_INVALID_OPTION'
  | 'HEADGATE_INVALID_RECORD'
  | 'HEADGATE_INVALID_REQUEST'
  | 'HEADGATE_KEY_REFUSED'
  | 'HEADGATE_NOT_FOUND'
  | 'HEADGATE_NO_CREDENTIAL'
  | 'HEADGATE_OVER_BUDGET'
  | 'HEADGATE_PAGE_LIMIT'
  | 'HEADGATE_REDIRECTED'
  | 'HEADGATE_STOPPED'
  | 'HEADGATE_TOKEN_INVALID'
  | 'HEADGATE_UNAUTHORIZED'
  | 'HEADGATE_UNEXPECTED_STATUS'
  | 'HEADGATE_UNFIT_ANSWER'
  | 'HEADGATE_UNSIGNABLE_REQUEST'
  | 'HEADGATE_USER_NOT_FOUND'
  | 'HEADGATE_USER_PROTECTED'
  | 'HEADGATE_USER_SUSPENDED'
  | 'HEADGATE_WAIT_TOO_LONG';

/** Options of a {@link SourceError}. */
export interface SourceErrorOptions {
  /** Identifies the case: a code of the sources, or one of your service, such as `NO_SUCH_REPO`. */
  readonly code: SourceErrorCode | (string & {});
  /** Says what happened, to which user, ISBN or credential, and what to do. */
  readonly message: string;
  /** True if the same request may succeed later. */
  readonly retryable: boolean;
  /** The definition's `service`. */
  readonly service: string;
  /** Name of the credential concerned; never its secret. */
  readonly credential?: string | undefined;
  /** The user, ISBN or page concerned: `@alpha`, a user ID, an ISBN or an author. */
  readonly subject?: string | undefined;
  /** Status of the response, if one came. */
  readonly status?: number | undefined;
  /** True if every further request fails, because no credential is left or the source has given up (`stopAfterFailures`). Default false. */
  readonly endsSource?: boolean | undefined;
  /** The error that caused this one. Default: none. */
  readonly cause?: unknown;
}

/** The error with which a request of a source ends. */
export class SourceError extends Error {
  /** A constant, because a bundler can rename the class. */
  override readonly name: string = 'SourceError';
  /** Identifies the case, such as `HEADGATE_USER_NOT_FOUND`; a definition may have its own codes. */
  readonly code: SourceErrorCode | (string & {});
  /** True if the same request may succeed later. */
  readonly retryable: boolean;
  /** The definition's `service`. */
  readonly service: string;
  /** Name of the credential concerned; never its secret. */
  readonly credential: string | undefined;
  /** The user, ISBN or page concerned: `@alpha`, a user ID, an ISBN or an author. */
  readonly subject: string | undefined;
  /** Status of the last response; undefined if none came. */
  readonly status: number | undefined;
  /** True if every further request fails, because no credential is left or the source has given up (`stopAfterFailures`). */
  readonly endsSource: boolean;

  constructor({ code, message, retryable, service, credential, subject, status, endsSource = false, cause }: SourceErrorOptions) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.retryable = retryable;
    this.service = service;
    this.credential = credential;
    this.subject = subject;
    this.status = status;
    this.endsSource = endsSource;
  }
}

/**
 * Calls a function of a definition. Passes its `SourceError` on, and wraps any other error in a `SourceError` with `HEADGATE_DEFINITION`,
 * which ends only this query. `subject`: the user, ISBN or page of the query, if it is known. `name`: the function.
 */
export function ofDefinition<T>(service: string, subject: string | undefined, name: string, call: () => T): T {
  try {
    return atOnce(call());
  } catch (error) {
    const cause = readable(error);
    if (cause instanceof SourceError) throw cause;
    const message = `${subject ?? service}: ${name} of the ${service} source threw ${thrown(cause)}. Fix the definition of the source.`;
    throw new SourceError({
      code: 'HEADGATE_DEFINITION',
      retryable: false,
      service,
      message,
      cause,
      subject,
    });
  }
}

/** Maximum characters of a thrown message, which may quote a whole response. */
const MAX_WORDS = 2_000;

/** Describes the error that a definition's function has thrown. */
export function thrown(cause: unknown): string {
  return cause instanceof Error ? `${cause.name}: ${cause.message}`.slice(0, MAX_WORDS) : "a value that isn't an Error";
}

/** Returns a thrown value, or an Error in its place if reading the value throws, for example because of a getter or a revoked proxy. */
export function readable(error: unknown): unknown {
  try {
    if (error instanceof Error) [error.name, error.message, error.stack, 'code' in error && error.code].join();
    return error;
  } catch {
    return new Error("it threw a value that can't be read");
  }
}

/**
 * Returns the result of a definition's function. Throws a `TypeError` for a promise, and ignores its rejection, which would otherwise end
 * the process.
 */
export function atOnce<T>(given: T): T {
  if (!(given instanceof Promise)) return given;
  given.catch(() => undefined);
  throw new TypeError('it returned a promise, and must return synchronously');
}

/** Throws a `TypeError` unless each number of a function's result is a number or undefined. Plain JavaScript can return text. */
export function assertNumbers(given: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined && typeof value !== 'number') throw new TypeError(`it returned a ${name} that isn't a number`);
  }
}

/** Returns the result of a definition's function. Throws a `RangeError` unless it is a whole number from 0. */
export function wholeNumber(given: number): number {
  if (Number.isSafeInteger(given) && given >= 0) return given;
  throw new RangeError(`it returned ${String(given)}, and must return a whole number from 0`);
}
