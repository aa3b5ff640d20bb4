import type { CreditPool, Delivery } from '@headgate/throttle';
import type { PendingRecord, RecordMakers, TopicMap } from '../topics/topic.ts';
import type { SourceControls } from '../definition/processor.ts';

/** Options of {@link lookup}. */
export interface LookupDefinition<Api extends SourceControls, Request, Answers, Topics extends TopicMap> {
  /** The source of the responses. The lane closes it. */
  readonly source: Api;
  /** Returns the key of a job, in any spelling. For jobs with several keys, see `split`. */
  key(request: Request): string;
  /**
   * Returns the normalized spelling of a key, or throws for an invalid key, which then becomes a dead letter. Default: the key unchanged.
   */
  normalize?(text: string): string;
  /** Requests up to `size` keys from the source. */
  query(
    api: Api,
    keys: readonly string[],
    options: { readonly credits: CreditPool; readonly signal: AbortSignal; readonly walk?: object },
  ): Promise<Delivery<Answers>>;
  /** Maximum keys of one HTTP request. */
  readonly size: number;
  /** Returns how many more keys a quota permits now. Default: no limit. */
  capacity?(api: Api): number;
  /** Time after which a batch that isn't full is sent, if no further job comes and no other batch is in flight, in ms. Default 200. */
  readonly maxWaitMs?: number;
  /** Returns the records and dead letters of one response. All requested keys then count as answered. */
  records(answers: Answers, at: LookupPosition<Request, Topics>): LookupOutcome;
}

/** The keys that one response is for. */
export interface LookupPosition<Request, Topics extends TopicMap> {
  /** The keys of the HTTP request, in order. */
  readonly requested: readonly RequestedKey<Request>[];
  /** Creates records: `topics.records({ key, value })`. */
  readonly topics: RecordMakers<Topics>;
}

/** A requested key. */
export interface RequestedKey<Request> {
  /** The key in the spelling that `normalize` returned. */
  readonly key: string;
  /** The job of the key. */
  readonly request: Request;
  /** ID of that job: `<requests topic>-<partition>-<offset>`. */
  readonly id: string;
}

/** The results for the keys of one response. A key without any result counts as answered, too. */
export interface LookupOutcome {
  /**
   * Records of each key, by its index in `requested`. If not all records of a key can be written, none is, and the key becomes a dead
   * letter.
   */
  readonly records: readonly { readonly index: number; readonly record: PendingRecord }[];
  /** Keys, or parts of the response, that can't be processed. Default: none. */
  readonly deadLetters?: readonly LookupDeadLetter[];
}

/** A key, or a part of a response, that can't be processed. */
export interface LookupDeadLetter {
  /** Index of the key in `requested`. */
  readonly index: number;
  /** Why the key or part failed. The error's code and message appear in the dead letter. */
  readonly error: unknown;
  /** The part of the response that can't be processed. `id` is unique within its request. Default: the key itself failed. */
  readonly part?: { readonly id: string; readonly record: unknown };
}
