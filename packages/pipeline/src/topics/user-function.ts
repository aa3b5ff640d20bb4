import { PipelineError } from '../settings/pipeline-error.ts';
import { isSourceError } from './source-error.ts';
import { placeOf, readable, textOf } from '../settings/thrown.ts';

/** A function of a definition, for the errors that name it. */
export interface UserFunction {
  readonly pipeline: string;
  /** Name of the function in the definition, such as `records`. */
  readonly name: string;
  /** Key of the request for which the function is called. Default: the function isn't called for a request. */
  readonly key?: string | undefined;
}

/**
 * Calls a function of a definition. If it throws, throws a `PipelineError` that names the function and the place. A `PipelineError` or an
 * error of a source passes unchanged. If it returns a promise, throws a `PipelineError`, too, and handles the promise's rejection, which
 * would otherwise end the process.
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

/**
 * Returns the result of a function of a definition, or throws if the result is a promise. Unlike with `callUser`, the function's own errors
 * pass unchanged.
 */
export function answered<Result>(of: UserFunction, result: Result): Result {
  if (isPromise(result)) throw misuse(of, 'returns a promise', 'It must return synchronously');
  return result;
}

/**
 * Calls a function of a definition that returns a list, and returns a copy of that list. Undefined counts as an empty list. Throws if the
 * function doesn't return a list synchronously.
 */
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

export function userError(of: UserFunction, cause: unknown): PipelineError {
  return failure(of, `threw ${textOf(cause)}${placeOf(cause)}`, cause);
}

/** The error for a function of a definition that returned something invalid. `what`: such as `returns -1`; `why`: the rule. */
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

/** True for a promise of any library. Handles the rejection of a native promise. */
export function isPromise(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('then' in value) || typeof value.then !== 'function') return false;
  if (value instanceof Promise) value.catch(() => undefined);
  return true;
}
