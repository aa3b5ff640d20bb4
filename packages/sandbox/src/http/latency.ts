import { SandboxOptionError } from '../sandbox-option-error.ts';

/** How long a response takes, in milliseconds: always the same, or evenly between two bounds. */
export type Latency = number | { readonly min: number; readonly max: number };

/** Draws how long each request takes and how it is split: it counts at any moment between its arrival and its response. */
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
