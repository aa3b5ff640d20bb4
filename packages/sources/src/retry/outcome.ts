import type { Unanswered } from '../http/exchange.ts';
import type { SourceError } from '../source-error.ts';
import type { Verdict } from '../verdict.ts';

/** An address of the service that a response has redirected to. */
export interface Redirect {
  readonly url: string;
  /** True if the redirect is requested with GET and without a body (RFC 9110, section 15.4). */
  readonly isGet: boolean;
}

/** How an attempt ended, other than with a usable response or a void permit. */
export type Failure<Value = unknown> =
  /**
   * Nothing was sent, because the request or its signature couldn't be made. `isAwaitingSecret`: the credential has no secret yet. `secret`:
   * the lasting part of the secret, if the request was signed.
   */
  | {
      readonly kind: 'unsent';
      readonly verdict: Extract<Verdict<never>, { readonly kind: 'fatal' | 'unauthorized' | 'transient' }>;
      readonly isAwaitingSecret: boolean;
      readonly secret: string | undefined;
    }
  | Extract<Unanswered, { readonly kind: 'unreached' | 'lost' | 'unreadable' }>
  /** A redirect that may be followed. `error`: for the query, if it has followed too many. */
  | { readonly kind: 'redirected'; readonly status: number; readonly to: Redirect; readonly error: SourceError }
  /** A complete response. `secret`: the lasting part of the credential's secret; undefined if `classify` didn't return the verdict. */
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly verdict: Exclude<Verdict<Value>, { readonly kind: 'ok' }>;
      readonly secret: string | undefined;
    };

/** How an attempt ended that had a result. */
export type Result<Value = unknown> = Failure<Value> | { readonly kind: 'usable'; readonly status: number; readonly value: Value };

/** How an attempt ended. `lapsed`: nothing was sent, because the permit expired or became void. */
export type Outcome<Value> = Result<Value> | { readonly kind: 'lapsed' };
