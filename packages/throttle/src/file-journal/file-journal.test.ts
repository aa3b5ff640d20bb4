import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { admission } from '../admission.ts';
import { credentialPool } from '../credential-pool.ts';
import { creditPool } from '../credit-pool.ts';
import { rateBudget } from '../rate-budget.ts';
import { virtualClock } from '../testing/index.ts';
import { type FileJournal, fileJournal } from './file-journal.ts';

let folder = '';
/** Of processes that died, too: their files are the operating system's to close, here ours. */
const opened: FileJournal[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-journal-'));
});
afterEach(async () => {
  for (const journal of opened.splice(0)) await journal.close().catch(() => undefined);
  await rm(folder, { recursive: true, force: true });
});

/** A process: it takes its budget over from the journal. */
async function started(clock = virtualClock()) {
  const journal = await fileJournal({ file: join(folder, 'sub', 'budgets.journal'), clock });
  opened.push(journal);
  const budget = rateBudget({ limit: 3, windowMs: 10_000, guardMs: 0, maxDelayMs: 5_000, leaseMs: () => journal.leaseMs, clock });
  const entry = journal.open('app', () => [budget.snapshot()]);
  for (const snapshot of entry.restored ?? []) budget.restore(snapshot);
  const pool = credentialPool({ members: [{ name: 'app', budgets: [budget], journal: entry }], clock });
  const door = admission({ clock });
  const acquire = () => door.acquire({ pool, credits: creditPool({ max: Infinity }), items: 1 });
  return { clock, journal, budget, acquire };
}

describe('fileJournal', () => {
  it('lets the next process continue the same window: what was under way counts until it must have been counted', async () => {
    const first = await started();
    const answered = await first.acquire();
    answered.sent();
    answered.answered();
    const underWay = await first.acquire();
    underWay.sent();
    // The process dies here: nothing is closed.
    const second = await started(first.clock);
    expect(second.budget.used).toBe(2);
    await first.clock.advance(10_001);
    expect(second.budget.used).toBe(1);
    await first.clock.advance(6_000);
    expect(second.budget.used).toBe(0);
  });

  it('adds nothing after a clean stop', async () => {
    const first = await started();
    const permit = await first.acquire();
    permit.sent();
    permit.answered();
    await first.journal.close();
    const second = await started(first.clock);
    expect(second.budget.snapshot()).toEqual(first.budget.snapshot());
  });

  it('does not mind a last line that was being written, and minds any other that is none', async () => {
    const first = await started();
    await first.acquire();
    const file = join(folder, 'sub', 'budgets.journal');
    await appendFile(file, '{"credential":"app","at":12');
    expect((await started(first.clock)).budget.used).toBe(1);
    await writeFile(file, `nonsense\n${await readFile(file, 'utf8')}`);
    await expect(started(first.clock)).rejects.toThrow(/budgets\.journal:1 is no line/);
  });

  it('stays small', async () => {
    const { journal, budget } = await started();
    const entry = journal.open('other', () => [budget.snapshot()]);
    budget.restore({ windowMs: 10_000, busy: Array.from({ length: 60 }, (_, i) => [1_000_000 + i, 1] as const) });
    for (let i = 0; i < 2_000; i += 1) {
      await entry.granted();
    }
    expect((await readFile(join(folder, 'sub', 'budgets.journal'))).length).toBeLessThan(1.2 * 1024 * 1024);
    await journal.close();
  });
});
