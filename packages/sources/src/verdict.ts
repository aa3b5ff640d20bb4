import type { SourceError } from './source-error.ts';

/** What an answer means. A closed set: whoever handles it does so by a `switch` without default. */
export type Verdict<Value> =
  | {
      readonly kind: 'ok';
      readonly value: Value;
      /** What the request has cost in budgets of those names, where the answer alone can tell: 0 for a 304 that is free. Default: its weights. */
      readonly cost?: Readonly<Record<string, number>>;
    }
  | {
      /** Refused for its rate: asked again when the service lets us. */
      readonly kind: 'rate-limited';
      readonly reason: string;
      /** Ms from now until the next request may start, where the answer says so. */
      readonly retryInMs?: number | undefined;
    }
  | {
      /** May go better next time: asked again under a deadline, with full jitter. */
      readonly kind: 'transient';
      readonly reason: string;
      /** Ms from now before which the service asks not to be asked again, where it says so. */
      readonly retryInMs?: number | undefined;
    }
  | {
      /**
       * Whole and readable, and not what the service is described to send: asked once more, in case another machine of it answers, then
       * given up. `where`: the place and what is expected there, without a text of the answer: `data: expected a list, got null`.
       */
      readonly kind: 'unfit';
      readonly where: string;
    }
  | {
      /** The credential is no longer good: it leaves the pool, the request goes on with another. */
      readonly kind: 'unauthorized';
      readonly error: SourceError;
    }
  | {
      /** The credential's clock is wrong by this much: corrected as often as it changes, by a day at most, and said. */
      readonly kind: 'clock-wrong';
      readonly offsetMs: number;
      readonly error: SourceError;
    }
  | {
      /** Perhaps `error`, perhaps a refusal for its rate: asked once more after a quiet window, then `error` is believed. */
      readonly kind: 'doubtful';
      readonly error: SourceError;
    }
  | {
      /** What was asked for isn't there or isn't ours to see. */
      readonly kind: 'gone';
      readonly error: SourceError;
    }
  | {
      /** Asking again can't help. */
      readonly kind: 'fatal';
      readonly error: SourceError;
    };
