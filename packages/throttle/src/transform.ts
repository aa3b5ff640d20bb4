import type { OperatorFunction } from 'rxjs';

/** A value that JSON can hold. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json | undefined };

/**
 * An RxJS operator that can also be opened with the state it left, so that a resumed stream goes on as if it had never stopped.
 * `pages.through(transform)` keeps backpressure; `.pipe(transform)` works as with every operator, and backpressure ends there.
 */
export interface Transform<A, B = A> extends OperatorFunction<A, B> {
  /** Under which its state stands in a checkpoint; unique among the transforms of one stream. */
  readonly name: string;
  /** Begins anew, or with the state that `state` gave. */
  open(state?: Json): OpenTransform<A, B>;
}

export interface OpenTransform<A, B> {
  /** The values that come of one, in order. */
  next(value: A): Iterable<B>;
  /** What a later `open` needs to go on behind the last `next`. Absent where there is nothing to remember. */
  state?(): Json | undefined;
}
