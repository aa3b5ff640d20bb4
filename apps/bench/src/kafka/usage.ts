/** What a process has used since it was started. */
export interface Usage {
  /** User and system, all threads. */
  readonly cpuMs: number;
  /** The most it ever had of real memory. */
  readonly peakBytes: number;
}

/** What a process is asked over its channel, or over stdin where it has none. */
export const USAGE_QUESTION = 'usage';
