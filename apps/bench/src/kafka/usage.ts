/** CPU and memory that a process has used since it was started. */
export interface Usage {
  /** User and system, all threads. */
  readonly cpuMs: number;
  /** The most it ever had of real memory. */
  readonly peakBytes: number;
}

/** The message that asks a process for its usage, over its channel or, where it has none, over stdin. */
export const USAGE_QUESTION = 'usage';
