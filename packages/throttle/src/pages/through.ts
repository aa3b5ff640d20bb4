import type { Delivery, PageReader } from './page-reader.ts';
import { sharedCredit } from './shared-credit.ts';
import type { Transform } from './transform.ts';

/** A stage of `through` that reads independently: it may wait, and read several values before it emits one, as `gather` does. */
export interface PageStage<A, B> {
  /**
   * Returns a reader of the stage's output for `values`. The stage holds the credit of the values it has read until it releases or passes
   * on the credit. It releases what it holds when `signal` aborts.
   */
  read(values: PageReader<A>, signal: AbortSignal): PageReader<B>;
}

/** A step between a stream of pages and its drain: a transform, which turns one value into others, or a stage that reads independently. */
export type Stage<A, B> = Transform<A, B> | PageStage<A, B>;

/** Applies a stage to a reader. Opens the stage if it is a transform. */
export function readThrough<A, B>(values: PageReader<A>, stage: Stage<A, B>, signal: AbortSignal): PageReader<B> {
  return 'read' in stage ? stage.read(values, signal) : transformed(values, stage);
}

/** Applies a transform. A value's credit is held until everything made from the value is released. */
function transformed<A, B>(values: PageReader<A>, transform: Transform<A, B>): PageReader<B> {
  const opened = transform.open();
  let failure: { readonly error: unknown } | undefined;
  const resultsOf = ({ value, credit }: Delivery<A>): readonly Delivery<B>[] => {
    const results: B[] = [];
    try {
      if (failure === undefined) for (const result of opened.next(value)) results.push(result);
    } catch (error) {
      failure = { error };
    }
    return sharedCredit({ value: results, credit }, 'together');
  };
  return {
    async read() {
      // An error comes after the values before it.
      if (failure !== undefined) throw failure.error;
      return (await values.read())?.flatMap(resultsOf);
    },
  };
}
