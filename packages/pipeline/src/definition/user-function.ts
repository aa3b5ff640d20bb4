import { PipelineError } from './pipeline-error.ts';
import { isSourceError } from '../engine/source-error.ts';
import { placeOf, readable, textOf } from './thrown.ts';

/** A function of a definition. */
export interface UserFunction {
  readonly pipeline: string;
  /** Its name in the definition: `records`. */
  readonly name: string;
  /** Key of the request that it is called for. Default: no request. */
  readonly key?: string | undefined;
}

/**
 * Calls a function of a definition. Its error names the function and where it threw; so does the
 * error for a promise, which would end the process if it rejected.
 */
export function callUser<Result>(of: UserFunction, call: () => Result): Result {
  try {
    return answered(of, call());
  } catch (error) {
    const cause = readable(error);
    if (cause instanceof PipelineError || isSourceError(cause)) throw cause;
    throw userError(of, cause);
  }
}

/** The result of a function of a definition whose errors are passed on unchanged. Throws for a promise. */
export function answered<Result>(of: UserFunction, result: Result): Result {
  if (isPromise(result)) throw misuse(of, 'returns a promise', 'It must return synchronously');
  return result;
}

/** Calls a function of a definition that returns a list, and reads the list. */
export function callUserList<Item>(of: UserFunction, call: () => Iterable<Item> | undefined): Item[] {
  const list: unknown = callUser(of, call);
  if (list === undefined || list === null) return [];
  if (typeof list !== 'object' || !(Symbol.iterator in list)) {
    const isAsync = typeof list === 'object' && Symbol.asyncIterator in list;
    throw misuse(of, isAsync ? 'returns an async iterable' : `returns ${textOf(list)}`, 'It must return a list synchronously');
  }
  const items = callUser(of, () => [...(list as Iterable<Item>)]);
  let isAnyLate = false;
  for (const item of items) isAnyLate = isPromise(item) || isAnyLate;
  if (isAnyLate) throw misuse(of, 'returns a list with a promise', 'It must return synchronously');
  return items;
}

/** The error of a function of a definition that threw. */
export function userError(of: UserFunction, cause: unknown): PipelineError {
  return failure(of, `threw ${textOf(cause)}${placeOf(cause)}`, cause);
}

/** The error of a function of a definition that returned something invalid: `returns -1`. */
export function misuse(of: UserFunction, what: string, why: string): PipelineError {
  return failure(of, `can't be used: it ${what}. ${why}`);
}

function failure({ pipeline, name, key }: UserFunction, what: string, cause?: unknown): PipelineError {
  const message =
    key === undefined
      ? `${name} of pipeline ${pipeline} ${what}. Fix it.`
      : `${key}: ${name} of pipeline ${pipeline} ${what}. Fix it, then replay the job.`;
  return new PipelineError({ code: 'HEADGATE_USER_FUNCTION', message, pipeline, key, cause });
}

/** True for a promise of any library. Its rejection counts as handled. */
export function isPromise(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('then' in value) || typeof value.then !== 'function') return false;
  if (value instanceof Promise) value.catch(() => undefined);
  return true;
}
