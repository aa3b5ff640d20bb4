import { SourceError } from '../source-error.ts';

export interface FailureStreakOptions {
  readonly service: string;
  /** Number of equal failures in a row that ends the source. */
  readonly stopAfter: number;
}

/**
 * Counts the requests in a row that have failed alike. At the limit, the cause is probably not the requests, so the next ones would fail,
 * too.
 */
export class FailureStreak {
  readonly #options: FailureStreakOptions;
  #hasSucceeded = false;
  #kind = '';
  #count = 0;

  constructor(options: FailureStreakOptions) {
    this.#options = options;
  }

  succeeded(): void {
    this.#hasSucceeded = true;
    this.#count = 0;
  }

  /**
   * Returns the error that ends the source if this failure reaches the limit. After a success, a resource that doesn't exist (`isGone`) is
   * only its request's failure and says nothing about others.
   */
  failed(
    { code, message }: SourceError,
    { status, isGone }: { readonly status: number; readonly isGone: boolean },
  ): SourceError | undefined {
    if (isGone && this.#hasSucceeded) return undefined;
    const kind = `${code} (${status})`;
    this.#count = kind === this.#kind ? this.#count + 1 : 1;
    this.#kind = kind;
    const { service, stopAfter } = this.#options;
    if (this.#count < stopAfter) return undefined;
    return new SourceError({
      code: 'HEADGATE_FAILURES_IN_A_ROW',
      retryable: true,
      endsSource: true,
      service,
      message:
        `${service}: ${this.#count} requests in a row ended with ${kind}, and none succeeded. ` +
        `Headgate stopped sending requests, because more would fail, too (stopAfterFailures). Last error: ${message}`,
    });
  }
}
