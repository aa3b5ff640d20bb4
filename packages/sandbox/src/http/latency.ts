import { checkNumbers } from '../option-number.ts';

/** Duration of a response in milliseconds: constant, or evenly distributed between two bounds. */
export type Latency = number | { readonly min: number; readonly max: number };

/** Returns a function that draws the duration of a request, and splits it at the random moment at which the service counts the request. */
export function createLatency(latency: Latency, random: () => number): () => { readonly beforeMs: number; readonly afterMs: number } {
  const { min, max } = typeof latency === 'object' && latency !== null ? latency : { min: latency, max: latency };
  checkNumbers({ 'the min of latencyMs': min }, { least: 0, fractions: true });
  checkNumbers({ 'the max of latencyMs': max }, { least: min, most: 2 ** 31 - 1, fractions: true });
  return () => {
    const wholeMs = min + random() * (max - min);
    const beforeMs = wholeMs * random();
    return { beforeMs, afterMs: wholeMs - beforeMs };
  };
}
