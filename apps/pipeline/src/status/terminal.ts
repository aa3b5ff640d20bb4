/** Stream for a run's messages: the terminal properties of `process.stderr`, absent on other streams. */
export interface Terminal extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}
