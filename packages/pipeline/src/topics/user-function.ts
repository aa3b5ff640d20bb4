import { PipelineError } from '../settings/pipeline-error.ts';
import { isSourceError } from './source-error.ts';
import { placeOf, readable, textOf } from '../settings/thrown.ts';

/** A function of a definition, for the errors that name it. */
export interface UserFunction {
  readonly pipeline: string;
  /** Name of the function in the definition, such as `records`. */
  readonly name: string;
}

/** Returns the error for the dead letter of a job. If a function of the definition is at fault, the error names the job's key. */
export function jobError(error: unknown, key: string): unknown {
  const cause = readable(error);
  if (!(cause instanceof PipelineError && cause.code === 'HEADGATE_USER_FUNCTION' && cause.pipeline !== undefined)) return cause;
  const { code, pipeline, message } = cause;
  return new PipelineError({ code, pipeline, key, message: `${key}: ${message.slice(0, -1)}, then replay the job.`, cause: cause.cause });
}

/** A rule for a function's results. Returns the result, or throws {@link misuse}. */
export type Rule = (result: unknown, of: UserFunction) => unknown;

/** Any result except a promise. */
export const synchronous: Rule = (result) => result;

/** The rule that results pass a test. `must`: such as `text`. */
export function mustReturn(must: string, test: (result: unknown) => boolean): Rule {
  return (result, of) => {
    if (test(result)) return result;
    throw misuse(of, `returns ${textOf(result)}`, `It must return ${must}`);
  };
}

export const text: Rule = mustReturn('text', (result) => typeof result === 'string');

/** A value that JSON can represent. */
export const json: Rule = (result) => {
  JSON.stringify(result);
  return result;
};

/** A list without promises, of which the caller gets a copy. Undefined counts as an empty list. */
export const list: Rule = (result, of) => {
  if (result === undefined || result === null) return [];
  if (typeof result !== 'object' || !(Symbol.iterator in result))
    throw misuse(of, `returns ${textOf(result)}`, 'It must return a list synchronously');
  const items = [...(result as Iterable<unknown>)];
  if (items.filter(isPromise).length > 0) throw misuse(of, 'returns a list with a promise', 'It must return synchronously');
  return items;
};

/**
 * Calls a function of a definition, and returns its result as the rule does. If the function throws, throws a `PipelineError` that names
 * the function and the place. A `PipelineError` or an error of a source passes unchanged.
 */
export function guard<Result>(of: UserFunction, rule: Rule, call: () => Result): Result {
  try {
    return checked(of, rule, call());
  } catch (error) {
    const cause = readable(error);
    if (cause instanceof PipelineError || isSourceError(cause)) throw cause;
    throw userError(of, cause);
  }
}

/** Checks a result like `guard`, for a function whose own errors pass unchanged. */
export function checked<Result>(of: UserFunction, rule: Rule, result: Result): Result {
  if (isPromise(result)) throw misuse(of, 'returns a promise', 'It must return synchronously');
  return rule(result, of) as Result;
}

/** Returns a definition in which each function that has a rule is called by `guard`. `of.name`: see `UserFunction`. Default: the member's. */
export function guarded<Definition extends object>(
  definition: Definition,
  of: Pick<UserFunction, 'pipeline'> & Partial<UserFunction>,
  rules: { readonly [Name in keyof Definition]?: Rule },
): Definition {
  const members: PropertyDescriptorMap = {};
  for (const [name, rule] of Object.entries<Rule>(rules as Readonly<Record<string, Rule>>)) {
    const member: unknown = Reflect.get(definition, name);
    if (typeof member !== 'function') continue;
    members[name] = {
      value: (...given: unknown[]) => guard({ name, ...of }, rule, (): unknown => Reflect.apply(member, definition, given)),
    };
  }
  return Object.create(definition, members) as Definition;
}

export function userError(of: UserFunction, cause: unknown): PipelineError {
  return failure(of, `threw ${textOf(cause)}${placeOf(cause)}`, cause);
}

/** The error for a function of a definition that returned something invalid. `what`: such as `returns -1`; `why`: the rule. */
export function misuse(of: UserFunction, what: string, why: string): PipelineError {
  return failure(of, `can't be used: it ${what}. ${why}`);
}

function failure({ pipeline, name }: UserFunction, what: string, cause?: unknown): PipelineError {
  return new PipelineError({
    code: 'HEADGATE_USER_FUNCTION',
    message: `${name} of pipeline ${pipeline} ${what}. Fix it.`,
    pipeline,
    cause,
  });
}

/** True for a promise of any library. Handles the rejection of a native promise, which would otherwise end the process. */
export function isPromise(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('then' in value) || typeof value.then !== 'function') return false;
  if (value instanceof Promise) value.catch(() => undefined);
  return true;
}
