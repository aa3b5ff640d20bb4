import type { SourceError } from './source-error.ts';

/** The meaning of a response. A closed set: handle it by a `switch` without default. */
export type Verdict<Value> =
  | {
      readonly kind: 'ok';
      readonly value: Value;
      /** The request's cost by budget name, where only the response shows it: 0 for a 304 that is free. Default: its weights. */
      readonly cost?: Readonly<Record<string, number>>;
    }
  | {
      /** Refused for its rate: retried when the service permits. */
      readonly kind: 'rate-limited';
      readonly reason: string;
      /** Ms from now until the next request may start, if the response says so. */
      readonly retryInMs?: number | undefined;
    }
  | {
      /** A failure that may pass: retried under a deadline, with full jitter. */
      readonly kind: 'transient';
      readonly reason: string;
      /** Minimum wait that the service requests, in ms from now. */
      readonly retryInMs?: number | undefined;
    }
  | {
      /**
       * Complete and readable, but different from the expected response: retried once, in case another machine of the service responds,
       * then given up. `where`: the place and what is expected there, without a text of the response: `data: expected a list, got null`.
       */
      readonly kind: 'schema-mismatch';
      readonly where: string;
    }
  | {
      /** The credential is no longer valid: it leaves the pool, and the request continues with another. */
      readonly kind: 'unauthorized';
      readonly error: SourceError;
    }
  | {
      /** The credential's clock is wrong by this much. Each change is corrected, by a day at most, and reported. */
      readonly kind: 'clock-wrong';
      readonly offsetMs: number;
      readonly error: SourceError;
    }
  | {
      /** Perhaps `error`, perhaps a refusal for its rate: retried once after a quiet window, then `error` is final. */
      readonly kind: 'ambiguous';
      readonly error: SourceError;
    }
  | {
      /** The requested resource doesn't exist or is hidden from us. */
      readonly kind: 'not-found';
      readonly error: SourceError;
    }
  | {
      /** A retry can't help. */
      readonly kind: 'fatal';
      readonly error: SourceError;
    };
