import type { Credit } from '../admission/credit-pool.ts';
import type { Delivery } from './page-reader.ts';

/**
 * Splits a delivery of several values into one delivery per value, each with a part of the credit. `each`: a value returns its own part.
 * `together`: the credit is returned when the last value is released. Without values, the credit is returned at once.
 */
export function sharedCredit<T>(
  { value: values, credit: whole }: Delivery<readonly T[]>,
  returned: 'each' | 'together',
): readonly Delivery<T>[] {
  if (values.length === 0) whole.release();
  const { items } = whole;
  let held = values.length;
  return values.map((value, i) => {
    let part = Math.floor((items * (i + 1)) / values.length) - Math.floor((items * i) / values.length);
    let isReleased = false;
    const credit: Credit = {
      get items() {
        return part;
      },
      resize(to) {
        if (isReleased) return;
        whole.resize(whole.items + to - part);
        part = to;
      },
      release() {
        if (isReleased) return;
        isReleased = true;
        held -= 1;
        if (held === 0) whole.release();
        else if (returned === 'each') whole.resize(whole.items - part);
        part = 0;
      },
    };
    return { value, credit };
  });
}
