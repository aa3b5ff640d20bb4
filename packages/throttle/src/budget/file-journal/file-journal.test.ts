import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, copyFile, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { admission } from '../../admission/admission.ts';
import { credentialPool } from '../../admission/credential-pool.ts';
import { creditPool } from '../../admission/credit-pool.ts';
import { rateBudget } from '../rate-budget.ts';
import { virtualClock } from '../../testing/index.ts';
import type { FailingDisk } from './failing-disk.fixture.ts';
import { type FileJournal, FileJournalError, fileJournal } from './file-journal.ts';

const disk: FailingDisk = vi.hoisted(() => ({ calls: [], open: 0, failsAfter: -1 }));
vi.mock('node:fs/promises', async (importOriginal) => {
  const { filesOf } = await import('./failing-disk.fixture.ts');
  return filesOf(disk, await importOriginal());
});

let folder = '';
let file = '';
/** Journals of processes that died, too: the operating system would close their files, here the test does. */
const opened: FileJournal[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-journal-'));
  file = join(folder, 'sub', 'budgets.journal');
  disk.failsAfter = -1;
});
afterEach(async () => {
  for (const journal of opened.splice(0)) await journal.close().catch(() => undefined);
  await rm(folder, { recursive: true, force: true });
});

/** A process: it takes its budget over from the journal. */
async function started(clock = virtualClock(), from = file) {
  const journal = await fileJournal({ file: from, clock });
  opened.push(journal);
  const budget = rateBudget({ limit: 3, windowMs: 10_000, guardMs: 0, maxDelayMs: 5_000, leaseMs: () => journal.leaseMs, clock });
  const entry = journal.open('app', () => [budget.snapshot()]);
  for (const snapshot of entry.restored ?? []) budget.restore(snapshot);
  const pool = credentialPool({ members: [{ name: 'app', budgets: [budget], journal: entry }], clock });
  const door = admission({ clock });
  const acquire = () => door.acquire({ pool, credits: creditPool({ max: Infinity }), items: 1 });
  return { clock, journal, budget, acquire };
}

/** The next process, after one that died: its lock is gone, and its file as it left it. */
async function startedAfterDeath(clock: ReturnType<typeof virtualClock>) {
  const left = `${file}.left`;
  await copyFile(file, left);
  return await started(clock, left);
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
    const second = await startedAfterDeath(first.clock);
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
    await appendFile(file, '{"credential":"app","at":12');
    const second = await startedAfterDeath(first.clock);
    expect(second.budget.used).toBe(1);
    await Promise.all([first.journal.close(), second.journal.close()]);
    for (const nonsense of ['nonsense', 'null', '{"credential":"app"}']) {
      await writeFile(file, `${nonsense}\n{}\n`);
      await expect(started(first.clock)).rejects.toThrow(/budgets\.journal:1 is no line/);
      // A refused journal is not held.
      await expect(started(first.clock)).rejects.toThrow(/budgets\.journal:1 is no line/);
    }
  });

  it('goes on after a grant that could not be written whole, and so does the next process', async () => {
    const first = await started();
    const other = first.journal.open('other', () => [{ windowMs: 10_000, busy: [], heldMs: 60_000 }]);
    other.settled();
    disk.failsAfter = 0;
    const error: unknown = await first.acquire().catch((refusal: unknown) => refusal);
    expect(error).toBeInstanceOf(FileJournalError);
    expect(String(error)).toMatch(/budgets\.journal can not be read or written \(ENOSPC\)\. No request is sent/);
    (await first.acquire()).sent();
    const { budget, journal } = await startedAfterDeath(first.clock);
    expect(budget.used).toBe(1);
    expect(journal.open('other', () => []).restored).toMatchObject([{ heldMs: 60_000 }]);
  });

  it('is durable with its grants, also where it can not be written anew', async () => {
    const { journal } = await started();
    const busy = Array.from({ length: 100_000 }, (_, i) => [1_000_000 + i, 1] as const);
    const entry = journal.open('large', () => [{ windowMs: 10_000, busy }]);
    // The third call of the one that is large enough opens the new file.
    disk.failsAfter = 2;
    await entry.granted();
    expect(disk.failsAfter).toBeLessThan(0);
    expect((await readFile(file, 'utf8')).trimEnd().split('\n')).toHaveLength(1);
    await entry.granted();
    await journal.close();
    expect((await readdir(join(folder, 'sub'))).sort()).toEqual(['budgets.journal', 'budgets.journal.lock']);
    expect((await readFile(file, 'utf8')).trimEnd().split('\n')).toHaveLength(1);
  });

  it('is open once at a time: another process or this one is refused, and may have it as soon as the holder has ended', async () => {
    const first = await started();
    await expect(started()).rejects.toThrow(/budgets\.journal is open already, in another process or in this one.*Stop the other one/);
    await first.journal.close();
    const holder = await holderProcess();
    await expect(started()).rejects.toThrow(/is open already/);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    await started();
  });

  // Windows has other permissions.
  it.skipIf(process.platform === 'win32')("is its owner's alone, whatever the umask", async () => {
    const umask = process.umask(0);
    onTestFinished(() => void process.umask(umask));
    await started();
    const modes = [folder, join(folder, 'sub'), file, `${file}.lock`].map(async (path) => (await stat(path)).mode & 0o777);
    expect((await Promise.all(modes)).slice(1)).toEqual([0o700, 0o600, 0o600]);
  });

  it('stays small', async () => {
    const { journal, budget } = await started();
    const entry = journal.open('other', () => [budget.snapshot()]);
    budget.restore({ windowMs: 10_000, busy: Array.from({ length: 60 }, (_, i) => [1_000_000 + i, 1] as const) });
    for (let i = 0; i < 2_000; i += 1) {
      await entry.granted();
    }
    expect((await readFile(file)).length).toBeLessThan(1.2 * 1024 * 1024);
    await journal.close();
  });
});

async function holderProcess(): Promise<ChildProcess> {
  const script = fileURLToPath(new URL('./journal-holder.fixture.ts', import.meta.url));
  const holder = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void holder.kill('SIGKILL'));
  await once(holder.stdout, 'data');
  return holder;
}
