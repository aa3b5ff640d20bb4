import type * as z from 'zod';
import type { TopicMap } from '../topics/topic.ts';
import type { NamedCredential, PipelineDefinition } from './pipeline-definition.ts';
import { PipelineError } from '../settings/pipeline-error.ts';
import { parseRequest } from '../topics/request.ts';
import { checked, guard, synchronous, text } from '../topics/user-function.ts';

/** A request in the form of its topic: the key and value of a record. */
export interface KeyedRequest {
  /** Key of the request's record. It determines the partition, and so the lane. */
  readonly key: string;
  /** The request as JSON text. */
  readonly value: string;
}

/** Parses a pipeline's requests, without the pipeline's options. */
export interface PipelineRequests<Request = unknown> {
  /** The pipeline's name. */
  readonly name: string;
  /** Parses a record's value with the definition's schema. Throws a `PipelineError` (HEADGATE_MALFORMED_REQUEST) for an invalid value. */
  read(value: string | null): unknown;
  /** Returns the key of a parsed request. */
  keyOf(request: unknown): string;
  /** Returns a request in the form of its topic. Throws a `PipelineError` (HEADGATE_MALFORMED_REQUEST) for an invalid request. */
  keyed(request: Request): KeyedRequest;
  /** Like `keyed`, for a record's value. Throws a `PipelineError` (HEADGATE_MALFORMED_REQUEST) for an invalid value. */
  parse(value: string | null): KeyedRequest;
  /**
   * Like `keyed`, for a line of text: a JSON object, or text for the definition's `parse`, whose own errors pass unchanged. Throws a
   * `PipelineError` (HEADGATE_MALFORMED_REQUEST) if the result is invalid.
   */
  parseLine(line: string): KeyedRequest;
  /** Calls the definition's `check`, which throws if a run would dead-letter the request without sending anything. */
  check(value: string): void;
}

type RequestFunctions = Pick<
  PipelineDefinition<z.ZodObject, z.ZodType, TopicMap, NamedCredential>,
  'name' | 'request' | 'keyOf' | 'parse' | 'check'
>;

export function pipelineRequests(definition: RequestFunctions): PipelineRequests {
  const { name } = definition;
  const read = (value: string | null): unknown => parseRequest(definition.request, value);
  const keyOf = (request: unknown): string => guard({ pipeline: name, name: 'keyOf' }, text, () => definition.keyOf(request));
  const parse = (value: string | null): KeyedRequest => ({ key: keyOf(read(value)), value: value ?? 'null' });
  const keyed = (request: unknown): KeyedRequest => parse(jsonOf(request));
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

/** Returns the request as JSON, or null if `JSON.stringify` returns undefined, as for a function. */
export function jsonOf(request: unknown): string | null {
  const text: string | undefined = JSON.stringify(request);
  return text ?? null;
}
