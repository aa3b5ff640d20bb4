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
 * Calls a function of a definition, and reads its result with `read`. Passes its `SourceError` on, and wraps any other error in a
 * `SourceError` with `HEADGATE_DEFINITION` (`HEADGATE_CLASSIFY` for `classify`), which ends only this query. `about`: fields of that error.
 * `name`: the function.
 */
export function ofDefinition<Given, Result>(
  about: Pick<SourceErrorOptions, 'service' | 'subject' | 'credential' | 'status'>,
  name: string,
  call: () => Given,
  read: (given: Given) => Result,
): Result {
  const failed = (cause: unknown, place = ''): SourceError => {
    if (cause instanceof SourceError) return cause;
    const { service, subject = service } = about;
    const code = name === 'classify' ? 'HEADGATE_CLASSIFY' : 'HEADGATE_DEFINITION';
    const message = `${subject}: ${name} of the ${service} source threw ${thrown(cause)}${place}. Fix the definition of the source.`;
    return new SourceError({ ...about, code, retryable: false, message, cause });
  };
  let given: Given;
  try {
    given = call();
  } catch (cause) {
    throw failed(cause, placeOf(cause));
  }
  try {
    return read(atOnce(given));
  } catch (cause) {
    throw failed(cause);
  }
}

/** Maximum characters of a thrown message, which may quote a whole response. */
const MAX_WORDS = 2_000;

/** Describes an error that a user's function has thrown. */
export function thrown(cause: unknown): string {
  return cause instanceof Error ? `${cause.name}: ${cause.message}`.slice(0, MAX_WORDS) : "a value that isn't an Error";
}

/** Returns the first line of an error's stack, in parentheses. Empty if there is none. */
function placeOf(cause: unknown): string {
  const line = cause instanceof Error ? /^\s+at .*$/m.exec(cause.stack ?? '')?.[0].trim() : undefined;
  return line === undefined ? '' : ` (${line})`;
}

/** Throws a `TypeError` for a promise, and ignores its rejection, which would otherwise end the process. */
function atOnce<T>(given: T): T {
  if (!(given instanceof Promise)) return given;
  given.catch(() => undefined);
  throw new TypeError('it returned a promise, and must return synchronously');
}

/** Returns the result of a definition's function. Throws a `RangeError` unless it is a whole number from 0. */
export function wholeNumber(given: number): number {
  if (Number.isSafeInteger(given) && given >= 0) return given;
  throw new RangeError(`it returned ${String(given)}, and must return a whole number from 0`);
}
