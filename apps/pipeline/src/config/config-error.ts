import type { DefinitionInfo } from '@headgate/pipeline';
import type { Config } from './config.ts';
import { formatProblems } from './format-problems.ts';
import type { Problem } from './problem.ts';

/** The sections without problems, and all definitions. */
export type ValidSections = Partial<Config> & {
  /**
   * The definitions of the built-in pipelines, and of the file's own pipelines even if their options have errors. If a module can't be
   * loaded, only its pipeline's name is known.
   */
  readonly definitions?: readonly DefinitionInfo[];
};

export interface ConfigErrorOptions {
  /** The file as the user named it. */
  readonly fileName: string;
  /** Errors in the file. Default: none, for example if the file could not be read. */
  readonly problems?: readonly Problem[];
  /** Settings that work but are probably mistakes. Default: none. */
  readonly warnings?: readonly Problem[];
  /** Message of the error. Default: the problems, one per line. */
  readonly message?: string;
  /** Sections without problems, for checks that need only some sections. Default: none. */
  readonly valid?: ValidSections;
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
  readonly valid: ValidSections;

  constructor({ fileName, problems = [], warnings = [], message, valid = {}, cause }: ConfigErrorOptions) {
    super(message ?? formatProblems({ fileName, problems }).trimEnd(), cause === undefined ? {} : { cause });
    this.fileName = fileName;
    this.problems = problems;
    this.warnings = warnings;
    this.valid = valid;
  }
}
