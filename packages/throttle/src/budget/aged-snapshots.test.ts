import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { agedSnapshots } from './aged-snapshots.ts';

const WINDOW_MS = 300;

it('a slot is never free before its window has ended, although uptimes are rounded down to 10 ms', () => {
  const tenths = (max: number) => fc.integer({ min: 0, max: 10 * max }).map((tenth) => tenth / 10);
  fc.assert(
    fc.property(tenths(100_000), tenths(2 * WINDOW_MS), (writtenMs, elapsedMs) => {
      const boot = (ms: number) => ({ id: 'start', ms: Math.floor(ms / 10) * 10 });
      const snapshot = { windowMs: WINDOW_MS, busy: [[WINDOW_MS, 1]] as const, boot: boot(writtenMs) };
      const [aged] = agedSnapshots([snapshot], elapsedMs, boot(writtenMs + elapsedMs));
      const [leftMs = 0] = aged?.busy[0] ?? [];
      const inFact = WINDOW_MS - elapsedMs;
      expect(leftMs).toBeGreaterThanOrEqual(inFact - 1e-6);
      expect(leftMs).toBeLessThan(inFact + 21);
    }),
  );
});
