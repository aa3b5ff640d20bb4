import type { SourceError } from './source-error.ts';

/** The meaning of a response. A closed set: handle it by a `switch` without default. */
export type Verdict<Value> =
  | {
      readonly kind: 'ok';
      readonly value: Value;
      /** The request's cost by budget name, if only the response shows it, such as 0 for a free 304. Default: its weights. */
      readonly cost?: Readonly<Record<string, number>>;
    }
  | {
      /** Refused because of a rate limit: retried when the service permits. */
      readonly kind: 'rate-limited';
      readonly reason: string;
      /** Ms from now until the next request may start, if the response says so. */
      readonly retryInMs?: number | undefined;
    }
  | {
      /** A temporary error: the request is retried after a random wait, whose maximum grows with each failure, up to 30 s. */
      readonly kind: 'transient';
      readonly reason: string;
      /** Minimum wait that the service requests, in ms from now. */
      readonly retryInMs?: number | undefined;
    }
  | {
      /**
       * Complete and readable, but different from the expected response: retried at most once, in case another machine of the service
       * responds. `where`: the field, and the value expected there, such as `data: expected a list, got null`. It must not quote the
       * response. `value`: the usable part, to which the query resolves if the response to the retry doesn't match, either.
       */
      readonly kind: 'schema-mismatch';
      readonly where: string;
      readonly value?: Value;
    }
  | {
      /**
       * The service refuses the credential. The signer reads the secret again if it can. Otherwise the credential leaves the pool, and the
       * request continues with another.
       */
      readonly kind: 'unauthorized';
      readonly error: SourceError;
    }
  | {
      /**
       * The service refuses the timestamp, or may: the service's clock is `offsetMs` ahead of ours. The signer corrects its clock unless the
       * offset is more than a day, and the request is retried. For a signer without a clock, this is `unauthorized`.
       */
      readonly kind: 'clock-wrong';
      readonly offsetMs: number;
      readonly error: SourceError;
    }
  | {
      /**
       * Either not found or a rate limit: the response doesn't tell which. The request ends with `error` and isn't retried. Only a request
       * that the service must answer otherwise can tell the two apart.
       */
      readonly kind: 'ambiguous';
      readonly error: SourceError;
      /** True if the caller asks again, so that the response doesn't count for `stopAfterFailures`. Default false. */
      readonly isAskedAgain?: boolean;
    }
  | {
      /** The requested resource doesn't exist or is hidden from us. */
      readonly kind: 'not-found';
      readonly error: SourceError;
      /**
       * True if another credential may get the resource: before the request ends with `error`, it is sent once with each other credential
       * that may send it. No credential leaves the pool. Default false.
       */
      readonly perCredential?: boolean;
    }
  | {
      /** A retry can't help. `perCredential`: as of `not-found`. */
      readonly kind: 'fatal';
      readonly error: SourceError;
      readonly perCredential?: boolean;
    };
