/** One page of a user's followers. Ids and cursors are spelled as the service spelled them. */
export interface FollowerPage<Id extends string | bigint = string> {
  /** `@alpha`, or the digits of an id. */
  readonly user: string;
  /** From 1 on, in this walk. */
  readonly page: number;
  /** The cursor it was asked for with. */
  readonly cursor: string;
  /** `0` on the last page, and in a walk back where the service sends none. */
  readonly nextCursor: string;
  /** `0` on the first page, and in a walk onward where the service sends none. */
  readonly previousCursor: string;
  /** In the order of the service. A page may be short or empty without being the last. */
  readonly ids: readonly Id[];
  /** The name of the credential it was asked for with. */
  readonly credential: string;
}
