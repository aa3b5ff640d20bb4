import type { Credit, Delivery } from '@headgate/throttle';

/** Splits a delivery of several values: each releases its own part of the credit. */
export function splitCredit<T>({ value: values, credit: whole }: Delivery<readonly T[]>): readonly Delivery<T>[] {
  if (values.length === 0) whole.release();
  return values.map((value) => ({ value, credit: part(whole) }));
}

function part(whole: Credit): Credit {
  let items = 1;
  let released = false;
  return {
    get items() {
      return items;
    },
    resize(to) {
      if (released) return;
      whole.resize(whole.items + to - items);
      items = to;
    },
    release() {
      if (released) return;
      released = true;
      whole.resize(whole.items - items);
      items = 0;
    },
  };
}
