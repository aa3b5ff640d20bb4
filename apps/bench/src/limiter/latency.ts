import type { Random } from './random.ts';

/** `uniform`: 20 to 400 ms. `tail`: lognormal with a median of 80 ms and sigma 1.2 (mean 164 ms), at most 10 s. */
export type Latency = 'uniform' | 'tail';

const TAIL_MEDIAN_MS = 80;
const TAIL_SIGMA = 1.2;
const TAIL_LONGEST_MS = 10_000;

export function roundTripMs(latency: Latency, random: Random): number {
  switch (latency) {
    case 'uniform':
      return 20 + 380 * random();
    case 'tail': {
      const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
      return Math.min(TAIL_LONGEST_MS, TAIL_MEDIAN_MS * Math.exp(TAIL_SIGMA * normal));
    }
  }
  return latency satisfies never;
}
