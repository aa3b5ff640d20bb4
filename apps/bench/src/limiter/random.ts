/** Returns a number from 0 to below 1. The same seed gives the same sequence. */
export type Random = () => number;

/** Creates a generator (mulberry32). Different values of `stream` give independent sequences for one seed. */
export function seededRandom({ seed, stream }: { readonly seed: number; readonly stream: number }): Random {
  let state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(stream, 0x85ebca6b)) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
