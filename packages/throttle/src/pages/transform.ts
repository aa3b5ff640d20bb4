import { concatMap, defer, type Observable, type OperatorFunction } from 'rxjs';

/** A value that JSON can hold. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json | undefined };

/**
 * An RxJS operator that can also be opened with the state it left, so that a resumed stream continues as if it had never stopped. In
 * `pages.through(transform)`, backpressure continues through it. `.pipe(transform)` works as with every operator, and backpressure ends
 * there.
 */
export interface Transform<A, B = A> extends OperatorFunction<A, B> {
  /** Name of the transform's state in a checkpoint; unique among the transforms of one stream. */
  readonly name: string;
  /** Starts over, or continues after the values that left `state`. */
  open(state?: Json): OpenTransform<A, B>;
}

/** An active transform on one stream. It may remember values from one call to the next. */
export interface OpenTransform<A, B> {
  /** Returns the values made from one value, in order. */
  next(value: A): Iterable<B>;
  /** Returns the state with which a later `open` continues after the last `next`. Absent for a transform without state. */
  state?(): Json | undefined;
}

/** Options of {@link transform}. */
export interface TransformOptions<A, B> {
  /** Name of the transform's state in a checkpoint; unique among the transforms of one stream. */
  readonly name: string;
  /** Starts over, or continues after the values that left `state`. Called once per walk or subscription. */
  readonly open: (state?: Json) => OpenTransform<A, B>;
}

/** Creates a transform from its `open` function. As an operator, each subscription opens it again. */
export function transform<A, B = A>({ name, open }: TransformOptions<A, B>): Transform<A, B> {
  const operator = (source: Observable<A>): Observable<B> =>
    defer(() => {
      const opened = open();
      return source.pipe(concatMap((value) => opened.next(value)));
    });
  Object.defineProperty(operator, 'name', { value: name });
  return Object.assign(operator, { open }) as Transform<A, B>;
}
