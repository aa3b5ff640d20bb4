import { once } from 'node:events';

/** Thrown if records couldn't be written to a file or to stdout. */
export class OutputError extends Error {
  override readonly name = 'OutputError';
  readonly code = 'HEADGATE_OUTPUT';
  readonly retryable = true;

  constructor(to: string, cause: NodeJS.ErrnoException) {
    super(`The records could not be written to ${to} (${cause.code}). The output is incomplete.`, { cause });
  }
}

/** A stream that is written no faster than its reader accepts. */
export interface PacedOutput {
  /** Aborts with `signal`, and when the stream fails or is closed by its reader. */
  readonly over: AbortSignal;
  /** The stream's first error. A pipe that its reader has closed counts only with `failsWhenClosed`. */
  readonly failure: NodeJS.ErrnoException | undefined;
  /** Resolves when the stream accepts more data, or `over` aborts. Writes nothing after `over` has aborted. */
  write(chunk: string | Uint8Array): Promise<void>;
}

export type Sink = Pick<PacedOutput, 'write'>;

/**
 * `signal` ends the output. `failsWhenClosed`: a closed pipe is an error. Otherwise it isn't, because a reader such as `head` closes the pipe
 * when it has read enough.
 */
export function pacedOutput(stream: NodeJS.WritableStream, signal: AbortSignal, failsWhenClosed = false): PacedOutput {
  const gone = new AbortController();
  const over = AbortSignal.any([signal, gone.signal]);
  let failure: NodeJS.ErrnoException | undefined;
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (failsWhenClosed || error.code !== 'EPIPE') failure ??= error;
    gone.abort();
  });
  return {
    over,
    get failure() {
      return failure;
    },
    async write(chunk) {
      if (!over.aborted && !stream.write(chunk)) await once(stream, 'drain', { signal: over }).catch(() => undefined);
    },
  };
}
