/** One HTTP answer, read whole under the limits of its source. */
export interface Answer {
  readonly status: number;
  /** Names in lower case; a header that came twice is joined by ', '. */
  readonly headers: Readonly<Record<string, string>>;
  /** The decoded body. */
  readonly body: Buffer;
}
