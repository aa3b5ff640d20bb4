/** Returns a generator of numbers in [0, 1). The same seed gives the same sequence. */
export function seededRandom(seed: number): () => number {
  let step = 0;
  return () => {
    step = (step + 1) >>> 0;
    return mix32(step ^ mix32(seed)) / 2 ** 32;
  };
}

/** Returns a 32-bit hash of a seed and any number of texts and numbers. */
export function hash32(seed: number, ...parts: readonly (string | number)[]): number {
  let hash = mix32(seed ^ 0x9e3779b9);
  for (const part of parts) {
    if (typeof part === 'number') {
      hash = mix32(hash ^ mix32(part));
      continue;
    }
    for (let index = 0; index < part.length; index++) hash = mix32(hash ^ part.charCodeAt(index));
  }
  return hash;
}

/** A bijection over 32-bit numbers (the finalizer of MurmurHash3): different numbers have different results. */
export function mix32(value: number): number {
  let mixed = value >>> 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

export function unmix32(mixed: number): number {
  let value = mixed >>> 0;
  value = Math.imul(value ^ (value >>> 16), 0x7ed1b41d);
  value = Math.imul(value ^ (value >>> 13) ^ (value >>> 26), 0xa5cb9243);
  return (value ^ (value >>> 16)) >>> 0;
}

export function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  const rest = [...items];
  const order: Item[] = [];
  while (rest.length > 0) {
    const picked = Math.floor(random() * rest.length);
    const last = rest.pop();
    if (last === undefined) break;
    const chosen = rest[picked];
    if (chosen === undefined) {
      order.push(last);
    } else {
      order.push(chosen);
      rest[picked] = last;
    }
  }
  return order;
}
