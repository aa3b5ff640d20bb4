import { SandboxOptionError } from '../sandbox-option-error.ts';

/** Duration of a response in milliseconds: constant, or evenly distributed between two bounds. */
export type Latency = number | { readonly min: number; readonly max: number };

/** Returns a function that draws the duration of a request, and splits it at the random moment at which the service counts the request. */
export function createLatency(latency: Latency, random: () => number): () => { readonly beforeMs: number; readonly afterMs: number } {
  const { min, max } = typeof latency === 'number' ? { min: latency, max: latency } : latency;
  if (!(min >= 0 && max >= min && max < 2 ** 31)) {
    throw new SandboxOptionError(`latencyMs is ${min} to ${max}; give milliseconds from 0, the smaller number first.`);
  }
  return () => {
    const wholeMs = min + random() * (max - min);
    const beforeMs = wholeMs * random();
    return { beforeMs, afterMs: wholeMs - beforeMs };
  };
}
