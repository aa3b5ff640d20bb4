import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collects garbage, and returns the bytes still in use on the heap and in buffers. */
export function heldBytes(): number {
  setFlagsFromString('--expose-gc');
  const collectGarbage: unknown = runInNewContext('gc');
  if (typeof collectGarbage !== 'function') throw new Error('this Node does not collect on request');
  collectGarbage();
  return inUse();
}

/**
 * Samples the memory in use every 5 ms, until disposed. `growth`: the highest sample, bytes above the memory in use at the call. A sample
 * includes garbage, unless it is above `maxGrowth`: then garbage is collected first, because when that happens by itself depends on the
 * machine.
 */
export function memoryPeak(maxGrowth: number): Disposable & { readonly growth: number } {
  const before = inUse();
  let growth = 0;
  const sample = (): void => {
    const grown = inUse() - before;
    growth = Math.max(growth, grown > maxGrowth ? heldBytes() - before : grown);
  };
  const timer = setInterval(sample, 5);
  return {
    get growth() {
      return growth;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

function inUse(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
