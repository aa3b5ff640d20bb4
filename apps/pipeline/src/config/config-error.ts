import { formatProblems } from './format-problems.ts';
import type { Problem } from './problem.ts';

export interface ConfigErrorOptions {
  /** The file as the user named it. */
  readonly fileName: string;
  /** Errors in the file. Default: none, for example if the file could not be read. */
  readonly problems?: readonly Problem[];
  /** Settings that work but are probably mistakes. Default: none. */
  readonly warnings?: readonly Problem[];
  /** Message of the error. Default: the problems, one per line. */
  readonly message?: string;
  readonly cause?: unknown;
}

/** Thrown for a configuration file that is missing, unreadable or wrong. The command then ends with exit code 2. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly code = 'HEADGATE_CONFIG';
  readonly retryable: boolean = false;
  readonly fileName: string;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];

  constructor({ fileName, problems = [], warnings = [], message, cause }: ConfigErrorOptions) {
    super(message ?? formatProblems(fileName, problems).trimEnd(), cause === undefined ? {} : { cause });
    this.fileName = fileName;
    this.problems = problems;
    this.warnings = warnings;
  }
}

/** The result of `read`, or undefined if it throws a `ConfigError`. */
export function ifValid<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}
