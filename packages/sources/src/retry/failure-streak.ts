import { SourceError } from '../source-error.ts';

/**
 * Counts the requests in a row that have failed alike. At the limit, the cause is probably not the requests, so the next ones would fail,
 * too.
 */
export class FailureStreak {
  readonly #service: string;
  readonly #stopAfter: number;
  #hasSucceeded = false;
  #kind = '';
  #count = 0;

  /** `stopAfter`: number of equal failures in a row that ends the source. */
  constructor(service: string, stopAfter: number) {
    this.#service = service;
    this.#stopAfter = stopAfter;
  }

  succeeded(): void {
    this.#hasSucceeded = true;
    this.#count = 0;
  }

  /**
   * Returns the error that ends the source if this failure reaches the limit. After a success, a resource that doesn't exist (`isGone`) is
   * only its request's failure and says nothing about others.
   */
  failed({ code, message }: SourceError, status: number, isGone: boolean): SourceError | undefined {
    if (isGone && this.#hasSucceeded) return undefined;
    const kind = `${code} (${status})`;
    this.#count = kind === this.#kind ? this.#count + 1 : 1;
    this.#kind = kind;
    const service = this.#service;
    if (this.#count < this.#stopAfter) return undefined;
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
