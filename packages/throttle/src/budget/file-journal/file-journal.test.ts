import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, copyFile, mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
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
  it.each<readonly [string, string, number]>([
    ['counts the time since the machine started, though its wall clock has jumped ahead', 'start-1', 0],
    ['counts by the wall clock after another start of the machine', 'start-2', 3],
  ])('%s', async (_, laterBoot, free) => {
    const time = virtualClock();
    let id = 'start-1';
    const clock = { ...time, boot: () => ({ id, ms: 70_000 + time.monotonicMs() }) };
    const first = await started(clock);
    for (let i = 0; i < 3; i += 1) {
      const permit = await first.acquire();
      permit.sent();
      permit.answered();
    }
    await first.journal.close();
    await time.advance(1_000);
    time.stepEpoch(3_600_000);
    id = laterBoot;
    const second = await started(clock);
    expect(second.budget.used).toBe(3 - free);
    await time.advance(8_999);
    expect(second.budget.used).toBe(3 - free);
    await time.advance(1);
    expect(second.budget.used).toBe(0);
  });

  it('lets the next process continue the same window: a request in flight counts until the service must have counted it', async () => {
    const first = await started();
    const answered = await first.acquire();
    answered.sent();
    answered.answered();
    const inFlight = await first.acquire();
    inFlight.sent();
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
    for (const nonsense of [
      'nonsense',
      'null',
      '7',
      '{"credential":"app","at":1}',
      '{"credential":"app","at":"1","budgets":[]}',
      '{"credential":7,"at":1,"budgets":[]}',
    ]) {
      await writeFile(file, `${nonsense}\n{}\n`);
      await expect(started(first.clock)).rejects.toThrow(/budgets\.journal:1 isn't a line/);
      // A refused journal is not held.
      await expect(started(first.clock)).rejects.toThrow(/budgets\.journal:1 isn't a line/);
    }
  });

  it('goes on after a grant that could not be written whole, and so does the next process', async () => {
    const first = await started();
    const other = first.journal.open('other', () => [{ windowMs: 10_000, busy: [], heldMs: 60_000 }]);
    other.settled();
    disk.failsAfter = 0;
    const error: unknown = await first.acquire().catch((refusal: unknown) => refusal);
    expect(error).toBeInstanceOf(FileJournalError);
    expect(error).toMatchObject({ code: 'HEADGATE_FILE_JOURNAL', retryable: false, cause: { code: 'ENOSPC' } });
    expect(String(error)).toMatch(/budgets\.journal can't be read or written \(ENOSPC\)\. No request is sent/);
    (await first.acquire()).sent();
    const { budget, journal } = await startedAfterDeath(first.clock);
    expect(budget.used).toBe(1);
    expect(journal.open('other', () => []).restored).toMatchObject([{ heldMs: 60_000 }]);
  });

  it('is durable with its grants, also where the file can not be rewritten', async () => {
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
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ credential: 'large', budgets: [{ windowMs: 10_000 }] });
  });

  it('is open once at a time: another process or this one is refused, and may have it as soon as the holder has ended', async () => {
    const first = await started();
    await expect(started()).rejects.toThrow(/budgets\.journal is already open, in this process or another one.*Stop one of them/);
    await first.journal.close();
    const holder = await holderProcess();
    await expect(started()).rejects.toThrow(/is already open/);
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

  it('writes a line for each credential that has changed, in one go for all that change at once, and nothing else', async () => {
    const { journal } = await started();
    const [one, other] = ['one', 'other'].map((name) => journal.open(name, () => []));
    disk.calls.length = 0;
    await Promise.all([one?.granted(), other?.granted(), one?.granted()]);
    await other?.granted();
    await journal.close();
    expect(disk.calls).toEqual([
      'append budgets.journal.new',
      'sync budgets.journal.new',
      'append budgets.journal.new',
      'sync budgets.journal.new',
    ]);
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { credential: string }).credential)).toEqual(['one', 'other', 'other']);
  });

  it('lets a permit wait for longer where the disk is slow, and shorter again when it no longer is', async () => {
    const clock = virtualClock();
    let nowMs = 5_000;
    let writeMs = 500;
    const journal = await fileJournal({ file, clock: { ...clock, monotonicMs: () => nowMs } });
    opened.push(journal);
    const entry = journal.open('app', () => ((nowMs += writeMs), []));
    const leases = [journal.leaseMs];
    for (const ms of [500, 0, 0]) {
      writeMs = ms;
      await entry.granted();
      leases.push(journal.leaseMs);
    }
    expect(leases.map(Math.round)).toEqual([1_000, 2_000, 1_800, 1_620]);
    for (let i = 0; i < 20; i += 1) await entry.granted();
    expect(journal.leaseMs).toBe(1_000);
  });

  // Windows lets few make links.
  it.skipIf(process.platform === 'win32')('takes no journal that it can not read for an empty one, and says which', async () => {
    await mkdir(join(folder, 'sub'));
    await symlink(file, file);
    await expect(started()).rejects.toThrow(/sub.budgets\.journal can't be read or written \(ELOOP\)/);
    await writeFile(join(folder, 'taken'), '');
    const under = fileJournal({ file: join(folder, 'taken', 'budgets.journal') });
    await expect(under).rejects.toThrow(/taken.budgets\.journal can't be read or written \(E[A-Z]+\)/);
    await expect(under).rejects.toBeInstanceOf(FileJournalError);
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
