import { bearer } from '@headgate/auth';
import type { BudgetSnapshot, Journal } from '@headgate/throttle';
import { virtualClock } from '@headgate/throttle/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sharedBudgets } from './shared-budgets.ts';
import { sourceCredential } from './source-credential.ts';

const NAMES = ['a', 'b'] as const;
const MONTH_MS = 31 * 86_400_000;
const rate = { requests: 1_000, windowMs: MONTH_MS };

/** A journal in memory, from which each process continues. */
function memoryJournal() {
  const written = new Map<string, readonly BudgetSnapshot[]>();
  return (): Journal => {
    const open = new Map<string, () => readonly BudgetSnapshot[]>();
    const changed = new Set<string>();
    const granted = async (name: string): Promise<void> => {
      for (const one of changed.add(name)) written.set(one, open.get(one)?.() ?? []);
      changed.clear();
      await Promise.resolve();
    };
    return {
      leaseMs: 1_000,
      open(name, snapshots) {
        open.set(name, snapshots);
        return {
          restored: written.get(name),
          granted: async () => await granted(name),
          settled: () => void changed.add(name),
          flush: () => void granted(name),
        };
      },
    };
  };
}

/** Two credentials, whose limit `rate` each process has either for each or over both of them. */
function twoCredentials() {
  const clock = virtualClock();
  const journal = memoryJournal();
  const sent = { a: 0, b: 0 };
  /** `isOtherShared`: whether there is another limit over both credentials. */
  const start = (isShared: boolean, isOtherShared: boolean) => {
    const budgets = { rate: { ...rate, shared: isShared }, ...(isOtherShared && { other: { ...rate, shared: true } }) };
    const options = { budgets, maxDelayMs: 0, clock, journal: journal() };
    const shared = sharedBudgets(options);
    const of = (name: string) => sourceCredential({ ...options, credential: { name, signer: bearer('token') }, shared });
    const credentials = { a: of('a'), b: of('b') };
    return {
      isShared,
      used: (name: (typeof NAMES)[number]): number => credentials[name].budgets[0]?.used ?? NaN,
      async send(name: (typeof NAMES)[number]) {
        const { budgets: all, journal: entry } = credentials[name];
        const slots = all.map((budget) => budget.take());
        await entry?.granted();
        sent[name] += 1;
        for (const slot of slots) slot.answered();
        entry?.settled();
      },
    };
  };
  return { sent, start };
}

const send = fc.record({ kind: fc.constant('send' as const), name: fc.constantFrom(...NAMES) });
const restart = fc.record({ kind: fc.constant('restart' as const), isShared: fc.boolean(), isOtherShared: fc.boolean() });
const steps = fc.array(fc.oneof(send, restart), { maxLength: 20 });
/** While another limit is shared, the entry of shared limits is written again, without those that no longer are. */
const lostFromShared = [
  { kind: 'restart' as const, isShared: true, isOtherShared: false },
  { kind: 'send' as const, name: 'b' as const },
  { kind: 'restart' as const, isShared: false, isOtherShared: true },
  { kind: 'send' as const, name: 'a' as const },
  { kind: 'restart' as const, isShared: false, isOtherShared: false },
];

describe('a limit that becomes shared, or no longer is', () => {
  test('counts every request that was sent before, however often it changes', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const { sent, start } = twoCredentials();
        let process = start(false, false);
        for (const step of all) {
          if (step.kind === 'send') await process.send(step.name);
          else process = start(step.isShared, step.isOtherShared);
          for (const name of NAMES) expect(process.used(name)).toBeGreaterThanOrEqual(process.isShared ? sent.a + sent.b : sent[name]);
        }
      }),
      { examples: [[lostFromShared]] },
    );
  });

  test('counts no request twice, however often the process restarts after the change', async () => {
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.array(fc.constantFrom(...NAMES)), steps, async (isShared, before, all) => {
        const { sent, start } = twoCredentials();
        const first = start(isShared, false);
        for (const name of before) await first.send(name);
        let process = start(!isShared, false);
        for (const step of all) {
          if (step.kind === 'send') await process.send(step.name);
          else process = start(!isShared, step.isOtherShared);
          for (const name of NAMES) expect(process.used(name)).toBeLessThanOrEqual(sent.a + sent.b);
        }
      }),
    );
  });
});
