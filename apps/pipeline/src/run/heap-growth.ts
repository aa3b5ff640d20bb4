/** Percentage by which the heap can grow before V8 collects garbage, by kind of work. V8's own limit would use more memory. */
const GROWTH = { lists: 100, pages: 50 } as const;

/** Limits the growth of the heap from now on, to the percentage for this kind of work. */
export function limitHeapGrowth(work: keyof typeof GROWTH): void {
  process.getBuiltinModule('node:v8').setFlagsFromString(`--heap-growing-percent=${GROWTH[work]}`);
}
