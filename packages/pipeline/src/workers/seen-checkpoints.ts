import { digest } from '../digest.ts';

/** The checkpoints of one walk, remembered over restarts. */
export interface SeenCheckpoints {
  has(checkpoint: string): boolean;
  add(checkpoint: string): void;
  /** Text of 8 characters each: 48 bits of a hash, which two of ten thousand checkpoints share once in five million walks. */
  snapshot(): string;
}

const LENGTH = 8;
/** 32 kB of them: half of what the state takes at the least. */
const MOST = 4_096;

/**
 * Remembers what the snapshot did; nothing without one. The first 4,096 are all remembered, of more every second one, then every fourth,
 * and so on: a walk in a circle comes past one of them a little later, and the memory stays as it is however long the walk.
 */
export function seenCheckpoints(snapshot = ''): SeenCheckpoints {
  const [digests = '', interval = '1'] = snapshot.split('/');
  let seen = new Set(digests.match(new RegExp(`.{${LENGTH}}`, 'g')) ?? []);
  let every = Number(interval);
  let toSkip = 0;
  const thinOut = (): void => {
    while (seen.size > MOST) {
      seen = new Set([...seen].filter((_, i) => i % 2 === 0));
      every *= 2;
    }
  };
  thinOut();
  return {
    has: (checkpoint) => seen.has(digest(checkpoint, LENGTH)),
    add(checkpoint) {
      toSkip -= 1;
      if (toSkip >= 0) return;
      seen.add(digest(checkpoint, LENGTH));
      thinOut();
      toSkip = every - 1;
    },
    snapshot: () => [...seen].join('') + (every === 1 ? '' : `/${every}`),
  };
}
