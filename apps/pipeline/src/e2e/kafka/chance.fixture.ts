/** Seed of all random times: `HEADGATE_CHAOS_SEED`, or a new one in each run. */
const SEED: number = Number(process.env['HEADGATE_CHAOS_SEED'] ?? Date.now() % 1_000_000);

/** The seed as a part of test names, so that a failed test can be repeated with it. */
export const SEEDED: string = `(HEADGATE_CHAOS_SEED=${SEED})`;

export interface Chance {
  /** Returns a number from 0 to below 1. */
  next(): number;
  /** A random duration between two bounds, ms. */
  between(leastMs: number, mostMs: number): number;
  oneOf<Choice>(choices: readonly Choice[]): Choice;
}

/** The random generator Mulberry32, seeded with the seed and a name, so that each test has its own sequence. */
export function chanceOf(name: string): Chance {
  let state = SEED;
  for (const letter of name) state = Math.imul(state ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    between: (leastMs, mostMs) => leastMs + next() * (mostMs - leastMs),
    oneOf(choices) {
      const chosen = choices[Math.floor(next() * choices.length)];
      if (chosen === undefined) throw new RangeError('Nothing to choose from.');
      return chosen;
    },
  };
}
