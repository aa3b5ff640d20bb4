import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** On the heap and in buffers when all that can be collected is. */
export function heldBytes(): number {
  setFlagsFromString('--expose-gc');
  const collectGarbage: unknown = runInNewContext('gc');
  if (typeof collectGarbage !== 'function') throw new Error('this Node does not collect on request');
  collectGarbage();
  return inUse();
}

/** Sampled while something runs: the most that is in use, garbage included. */
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
