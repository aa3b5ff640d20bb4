/**
 * Percentage by which the heap may grow before V8 collects garbage. Lists of 100,000 entries create as much garbage as they occupy, and by
 * default V8 lets the heap grow to four times its size; pages come and go by the thousand.
 */
const GROWTH = { lists: 100, pages: 50 } as const;

/** Limits the growth of the heap from now on, to what suits the work at hand. */
export function limitHeapGrowth(work: keyof typeof GROWTH): void {
  process.getBuiltinModule('node:v8').setFlagsFromString(`--heap-growing-percent=${GROWTH[work]}`);
}
