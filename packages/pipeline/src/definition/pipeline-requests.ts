import type * as z from 'zod';
import { PipelineError } from './pipeline-error.ts';
import { parseRequest } from './request.ts';
import { textOf } from './thrown.ts';
import { type UserFunction, answered, callUser, misuse } from './user-function.ts';

/** A request in the form of its topic. */
export interface KeyedRequest {
  /** Key of the request's record, which determines the partition and so the lane. */
  readonly key: string;
  /** The request as JSON text. */
  readonly value: string;
}

/** The requests of a pipeline, independent of its options. */
export interface PipelineRequests<Request = unknown> {
  /** The pipeline's name. */
  readonly name: string;
  /** Reads a record's value by the definition's schema. Throws a `PipelineError` (HEADGATE_MALFORMED_REQUEST). */
  read(value: string | null): unknown;
  /** The key of a request that was read. `recordKey`: of its record, for the error of the definition's `keyOf`. */
  keyOf(request: unknown, recordKey?: string): string;
  /** A request in the form of its topic. Throws a `PipelineError` (HEADGATE_MALFORMED_REQUEST). */
  keyed(request: Request): KeyedRequest;
  /** Reads a record's value. Throws a `PipelineError` (HEADGATE_MALFORMED_REQUEST). */
  parse(value: string | null): KeyedRequest;
  /** The request of a line, JSON or text. Throws a `PipelineError` (HEADGATE_MALFORMED_REQUEST). */
  parseLine(line: string): KeyedRequest;
  /** Throws for a request that becomes a dead letter before any HTTP request. */
  check(value: string): void;
}

/** The functions of a definition that deal with its requests. */
interface RequestFunctions {
  readonly name: string;
  readonly request: z.ZodType;
  keyOf(request: unknown): string;
  parse?(line: string): unknown;
  check?(request: unknown): void;
}

/** The requests of a definition. */
export function pipelineRequests(definition: RequestFunctions): PipelineRequests {
  const { name } = definition;
  const read = (value: string | null): unknown => parseRequest(definition.request, value);
  const keyOf = (request: unknown, recordKey?: string): string => {
    const of: UserFunction = { pipeline: name, name: 'keyOf', key: recordKey };
    const key: unknown = callUser(of, () => definition.keyOf(request));
    if (typeof key !== 'string') throw misuse(of, `returns ${textOf(key)}`, 'It must return text');
    return key;
  };
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
      if (definition.parse !== undefined) return keyed(answered({ pipeline: name, name: 'parse' }, definition.parse(line)));
      const message = `${name} accepts only JSON objects as jobs.`;
      throw new PipelineError({ code: 'HEADGATE_MALFORMED_REQUEST', message, pipeline: name });
    },
    check: (value) => answered({ pipeline: name, name: 'check' }, definition.check?.(read(value))),
  };
}

/** The request as JSON text; null for a value that JSON can't represent, such as `undefined`. */
export function jsonOf(request: unknown): string | null {
  const text: string | undefined = JSON.stringify(request);
  return text ?? null;
}
