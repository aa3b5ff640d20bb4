import type * as z from 'zod';
import type { TopicMap } from '../topics/topic.ts';
import type { NamedCredential, PipelineDefinition } from './pipeline-definition.ts';
import { PipelineError } from '../settings/pipeline-error.ts';
import { parseJob } from '../topics/job.ts';
import { checked, guard, synchronous, text } from '../topics/user-function.ts';

/** A job in the form of its topic: the key and value of a record. */
export interface KeyedJob {
  /** Key of the job's record. It determines the partition, and so the lane. */
  readonly key: string;
  /** The job as JSON text. */
  readonly value: string;
}

/** Parses a pipeline's jobs, without the pipeline's options. */
export interface PipelineJobs<Request = unknown> {
  /** The pipeline's name. */
  readonly name: string;
  /** Parses a record's value with the definition's schema. Throws a `PipelineError` (HEADGATE_MALFORMED_REQUEST) for an invalid value. */
  read(value: string | null): unknown;
  /** Returns the key of a parsed job. */
  keyOf(request: unknown): string;
  /** Returns a job in the form of its topic. Throws a `PipelineError` (HEADGATE_MALFORMED_REQUEST) for an invalid job. */
  keyed(request: Request): KeyedJob;
  /** Like `keyed`, for a record's value. Throws a `PipelineError` (HEADGATE_MALFORMED_REQUEST) for an invalid value. */
  parse(value: string | null): KeyedJob;
  /**
   * Like `keyed`, for a line of text: a JSON object, or text for the definition's `parse`, whose own errors pass unchanged. Throws a
   * `PipelineError` (HEADGATE_MALFORMED_REQUEST) if the result is invalid.
   */
  parseLine(line: string): KeyedJob;
  /** Calls the definition's `check`, which throws if a run would dead-letter the job without sending anything. */
  check(value: string): void;
}

type JobFunctions = Pick<
  PipelineDefinition<z.ZodObject, z.ZodType, TopicMap, NamedCredential>,
  'name' | 'request' | 'keyOf' | 'parse' | 'check'
>;

export function pipelineJobs(definition: JobFunctions): PipelineJobs {
  const { name } = definition;
  const read = (value: string | null): unknown => parseJob(definition.request, value);
  const keyOf = (request: unknown): string => guard({ pipeline: name, name: 'keyOf' }, text, () => definition.keyOf(request));
  const parse = (value: string | null): KeyedJob => ({ key: keyOf(read(value)), value: value ?? 'null' });
  const keyed = (request: unknown): KeyedJob => parse(jsonOf(request));
  return {
    name,
    read,
    keyOf,
    keyed,
    parse,
    parseLine(line) {
      if (/^\s*\{/.test(line)) return parse(line);
      if (definition.parse !== undefined) return keyed(checked({ pipeline: name, name: 'parse' }, synchronous, definition.parse(line)));
      const message = `${name} accepts only JSON objects as jobs.`;
      throw new PipelineError({ code: 'HEADGATE_MALFORMED_REQUEST', message, pipeline: name });
    },
    check: (value) => checked({ pipeline: name, name: 'check' }, synchronous, definition.check?.(read(value))),
  };
}

/** Returns the job as JSON, or null if `JSON.stringify` returns undefined, as for a function. */
export function jsonOf(request: unknown): string | null {
  const text: string | undefined = JSON.stringify(request);
  return text ?? null;
}
