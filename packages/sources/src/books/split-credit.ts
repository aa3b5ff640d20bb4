import type { Credit, Delivery } from '@headgate/throttle';

/** Takes a delivery of many values apart: each gives back its own part of the room. */
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
