/**
 * Percentage by which the heap can grow before V8 collects garbage. By default, V8 lets it grow to four times its size. Reading a list
 * creates as much garbage as the list occupies, and thousands of pages are created and dropped.
 */
const GROWTH = { lists: 100, pages: 50 } as const;

/** Limits the growth of the heap from now on, to the percentage for this kind of work. */
export function limitHeapGrowth(work: keyof typeof GROWTH): void {
  process.getBuiltinModule('node:v8').setFlagsFromString(`--heap-growing-percent=${GROWTH[work]}`);
}
