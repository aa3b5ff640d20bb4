/** Where a run's talk goes: what `process.stderr` has of a terminal, each of it absent elsewhere. */
export interface Terminal extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}
