import { type NumberChecks, numberChecks } from '@headgate/throttle/internal';
import type { z } from 'zod';
import { type OptionIssue, optionsText } from './parse-options.ts';

/** The codes of a {@link PipelineError}. */
export type PipelineErrorCode =
  /** A definition is invalid: for example, two topics have the same name, or a name is reserved. */
  | 'HEADGATE_DEFINITION'
  /** The options of a pipeline or of a call are invalid, or don't fit their schema. */
  | 'HEADGATE_INVALID_OPTION'
  /** A function or schema of a definition threw, or a function returned a promise or something else that is invalid. */
  | 'HEADGATE_USER_FUNCTION'
  /** A job isn't a valid request of its pipeline. */
  | 'HEADGATE_MALFORMED_REQUEST'
  /** A record is larger than its topic accepts. */
  | 'HEADGATE_RECORD_TOO_LARGE'
  /** A record has an invalid key, value or header. With `validate`, also: it doesn't fit the schema of its topic. */
  | 'HEADGATE_INVALID_RECORD'
  /** A topic that a lane uses was deleted or recreated, or records that the `after` of a walk needs are gone. */
  | 'HEADGATE_STATE_LOST'
  /** The log deleted requests before any run processed them. */
  | 'HEADGATE_REQUESTS_DELETED'
  /** A secret's file is missing, empty or unreadable. Requests wait until the file has the secret. */
  | 'HEADGATE_SECRET_AWAITED';

/** Options of a {@link PipelineError}. */
export interface PipelineErrorOptions {
  /** Identifies the kind of error. */
  readonly code: PipelineErrorCode;
  /** Says what happened, where, and what to do. */
  readonly message: string;
  /** True if the same call may succeed later without a change to the program. Default false. */
  readonly retryable?: boolean | undefined;
  /** Name of the pipeline that the error is about. */
  readonly pipeline?: string | undefined;
  /** Key of the request that the error is about. */
  readonly key?: string | undefined;
  /** The underlying error. Default: none. */
  readonly cause?: unknown;
}

/** The error of a pipeline, or of one of its requests. */
export class PipelineError extends Error {
  /** Stays the same if a bundler renames classes. */
  override readonly name: string = 'PipelineError';
  /** Identifies the kind of error. */
  readonly code: PipelineErrorCode;
  /** True if the same call may succeed later without a change to the program. */
  readonly retryable: boolean;
  /** Name of the pipeline that the error is about. */
  readonly pipeline: string | undefined;
  /** Key of the request that the error is about. */
  readonly key: string | undefined;

  constructor({ code, message, retryable = false, pipeline, key, cause }: PipelineErrorOptions) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.retryable = retryable;
    this.pipeline = pipeline;
    this.key = key;
  }
}

/** The error for options that don't fit their schema. */
export class InvalidOptionsError extends PipelineError {
  /** Stays the same if a bundler renames classes. */
  override readonly name = 'InvalidOptionsError';
  /** The issues, each with its path within the options. */
  readonly issues: readonly OptionIssue[];
  /** The schema of the options. */
  readonly schema: z.ZodType;

  constructor(pipeline: string, issues: readonly OptionIssue[], schema: z.ZodType) {
    super({ code: 'HEADGATE_INVALID_OPTION', message: optionsText(pipeline, issues), pipeline });
    this.issues = issues;
    this.schema = schema;
  }
}

/** Checks of numbers in options or parts of a definition. `name`: the function that takes them. */
export function pipelineChecks(name: string, code: 'HEADGATE_INVALID_OPTION' | 'HEADGATE_DEFINITION'): NumberChecks {
  return numberChecks((option, must) => new PipelineError({ code, message: `${name}: ${option} must be ${must}.` }));
}
