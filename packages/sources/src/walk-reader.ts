import type { Delivery, PageReader, ReadOptions } from '@headgate/throttle';

export interface WalkReaderOptions<Ask, Value> {
  readonly first: Ask;
  /** The ask after this page, or undefined when it was the last. */
  readonly next: (value: Value, ask: Ask) => Ask | undefined;
  readonly ask: (ask: Ask, options: ReadOptions) => Promise<Delivery<Value>>;
}

/** Reads a walk ask by ask. An error of `next` comes after its page, which is good. */
export function walkReader<Ask, Value>({ first, next, ask }: WalkReaderOptions<Ask, Value>): PageReader<Value> {
  let coming: Ask | undefined = first;
  let failure: { readonly error: unknown } | undefined;
  return {
    async read(options) {
      if (failure !== undefined) throw failure.error;
      const current = coming;
      if (current === undefined) return undefined;
      const delivery = await ask(current, options);
      try {
        coming = next(delivery.value, current);
      } catch (error) {
        failure = { error };
      }
      return delivery;
    },
  };
}
