import { latestSignal } from '../abort.ts';
import type { Delivery, PageReader } from './page-reader.ts';
import { sharedCredit } from './shared-credit.ts';
import type { Transform } from './transform.ts';

/** A stage of `through` that reads independently: it may wait, and read several values before it emits one, as `gather` does. */
export interface PageStage<A, B> {
  /**
   * Returns a reader of the stage's output for `values`. The stage holds the credit of the values it has read until it releases or passes
   * on the credit.
   */
  read(values: PageReader<A>): PageReader<B>;
}

/** A step between a stream of pages and its drain: a transform, which turns one value into others, or a stage that reads independently. */
export type Stage<A, B> = Transform<A, B> | PageStage<A, B>;

/** Applies a stage to a reader. Opens the stage if it is a transform. */
export function readThrough<A, B>(values: PageReader<A>, stage: Stage<A, B>): PageReader<B> {
  return 'read' in stage ? stage.read(values) : transformed(values, stage);
}

/** Applies a transform. Holds a value's credit until everything made from the value is released. */
function transformed<A, B>(values: PageReader<A>, transform: Transform<A, B>): PageReader<B> {
  const opened = transform.open();
  let ready: readonly Delivery<B>[] = [];
  let nextReady = 0;
  let failure: { readonly error: unknown } | undefined;
  const drop = (): void => {
    for (const { credit } of ready.slice(nextReady)) credit.release();
    ready = [];
    nextReady = 0;
  };
  // Ready values also hold credit between two reads.
  const watch = latestSignal(drop);

  const accept = ({ value, credit }: Delivery<A>): void => {
    const results: B[] = [];
    try {
      for (const result of opened.next(value)) results.push(result);
    } catch (error) {
      failure = { error };
    }
    ready = sharedCredit({ value: results, credit }, 'together');
    nextReady = 0;
  };
  const take = (): Delivery<B> | undefined => {
    for (;;) {
      const one = ready[nextReady];
      if (one !== undefined) {
        nextReady += 1;
        return one;
      }
      const delivery = failure === undefined ? values.take?.() : undefined;
      if (delivery === undefined) return undefined;
      accept(delivery);
    }
  };

  return {
    take,
    async read(options) {
      watch(options.signal);
      for (;;) {
        options.signal.throwIfAborted();
        const one = take();
        if (one !== undefined) return one;
        if (failure !== undefined) throw failure.error;
        const delivery = await values.read(options);
        if (delivery === undefined) return undefined;
        accept(delivery);
        if (options.signal.aborted) drop();
      }
    },
  };
}
