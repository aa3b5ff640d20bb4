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

/** Samples the memory in use every 5 ms, until disposed. `bytes`: the highest sample, garbage included. */
export function memoryPeak(): Disposable & { readonly bytes: number } {
  let bytes = inUse();
  const timer = setInterval(() => (bytes = Math.max(bytes, inUse())), 5);
  return {
    get bytes() {
      return bytes;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

function inUse(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
