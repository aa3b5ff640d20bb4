import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, copyFileSync, existsSync, openSync, writeSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { admission } from '../../admission/admission.ts';
import { credentialPool } from '../../admission/credential-pool.ts';
import { creditPool } from '../../admission/credit-pool.ts';
import { rateBudget } from '../rate-budget.ts';
import { virtualClock } from '../../testing/index.ts';
import { type FileJournal, fileJournal, FileJournalError } from './file-journal.ts';

let folder = '';
let file = '';
/**
 * All journals that were opened, including those of simulated dead processes. The operating system would close the files of a dead process;
 * here the test does.
 */
const opened: FileJournal[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-journal-'));
  file = join(folder, 'sub', 'budgets.journal');
});
afterEach(async () => {
  for (const journal of opened.splice(0)) await journal.close().catch(() => undefined);
  await rm(folder, { recursive: true, force: true });
});

/** Simulates the start of a process, which restores its budget from the journal. */
async function started(clock = virtualClock(), from = file) {
  const journal = await fileJournal({ file: from, clock });
  opened.push(journal);
  const budget = rateBudget({ limit: 3, windowMs: 10_000, guardMs: 0, maxDelayMs: 5_000, leaseMs: () => journal.leaseMs, clock });
  const entry = journal.open('app', () => [budget.snapshot()]);
  for (const snapshot of entry.restored ?? []) budget.restore(snapshot);
  const pool = credentialPool({ members: [{ name: 'app', budgets: [budget], journal: entry }], clock });
  const door = admission({ pool, clock });
  const acquire = () => door.acquire({ credits: creditPool({ max: Infinity }), items: 1 });
  return { clock, journal, budget, acquire };
}

/** Copies the files that a process would leave if it died now. Returns the path of the copy. */
function leftByDeath(): string {
  const left = join(folder, 'left.journal');
  for (const end of ['', '-wal']) if (existsSync(`${file}${end}`)) copyFileSync(`${file}${end}`, `${left}${end}`);
  return left;
}

async function startedAfterDeath(clock: ReturnType<typeof virtualClock>) {
  return await started(clock, leftByDeath());
}

function rowsOf(path: string): Record<string, unknown> {
  const db = new DatabaseSync(path);
  try {
    const rows = db.prepare('SELECT credential, budgets FROM journal').all();
    return Object.fromEntries(rows.map(({ credential, budgets }) => [String(credential), JSON.parse(String(budgets)) as unknown]));
  } finally {
    db.close();
  }
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
    // The machine's uptime is rounded down to 10 ms.
    await time.advance(11);
    expect(second.budget.used).toBe(0);
  });

  it('frees nothing sooner after a wall clock that was set back', async () => {
    const first = await started();
    const permit = await first.acquire();
    permit.sent();
    permit.answered();
    await first.journal.close();
    first.clock.stepEpoch(-3_600_000);
    const second = await started(first.clock);
    await first.clock.advance(9_999);
    expect(second.budget.used).toBe(1);
    await first.clock.advance(1);
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

  it('has each grant in its file before the permit is there, whenever the process dies', async () => {
    const first = await started();
    for (let granted = 1; granted <= 3; granted += 1) {
      await first.acquire();
      expect(rowsOf(leftByDeath())).toMatchObject({ app: [{ busy: { length: granted } }] });
    }
  });

  it('adds nothing after a clean stop', async () => {
    const first = await started();
    const permit = await first.acquire();
    permit.sent();
    permit.answered();
    await first.journal.close();
    const second = await started(first.clock);
    expect(second.budget.snapshot()).toEqual(first.budget.snapshot());
    await second.journal.close();
    expect(await readdir(join(folder, 'sub'))).toEqual(['budgets.journal']);
  });

  it('tolerates a truncated write', async () => {
    const first = await started();
    await first.acquire();
    const left = leftByDeath();
    const wal = await readFile(`${left}-wal`);
    await first.acquire();
    leftByDeath();
    const longer = await readFile(`${left}-wal`);
    expect(longer.length).toBeGreaterThan(wal.length);
    // The process dies in the middle of the second grant's write.
    await writeFile(`${left}-wal`, longer.subarray(0, (wal.length + longer.length) / 2));
    expect((await started(first.clock, left)).budget.used).toBe(1);
  });

  it.each<readonly [string, (path: string) => Promise<void>]>([
    ['a file of another kind', async (path) => await writeFile(path, 'nonsense\n{}\n'.repeat(100))],
    [
      'another database',
      async (path) => {
        const db = new DatabaseSync(path);
        db.exec('CREATE TABLE mine (value)');
        db.close();
      },
    ],
    [
      'a damaged one',
      async (path) => {
        await (await fileJournal({ file: path })).close();
        const pages = openSync(path, 'r+');
        writeSync(pages, Buffer.alloc(4_000, 7), 0, 4_000, 4_096);
        closeSync(pages);
      },
    ],
  ])('refuses %s, says what to do, and does not hold it', async (_, make) => {
    await mkdir(join(folder, 'sub'));
    await make(file);
    const before = await readFile(file);
    for (let i = 0; i < 2; i += 1) {
      const opening = fileJournal({ file });
      await expect(opening).rejects.toBeInstanceOf(FileJournalError);
      await expect(opening).rejects.toThrow(
        /budgets\.journal isn't a journal, or is damaged\. Move the file away, and wait for one window/,
      );
    }
    expect((await readFile(file)).subarray(100)).toEqual(before.subarray(100));
  });

  // `prlimit` is a Linux command.
  it.skipIf(process.platform !== 'linux')('continues after a grant that could not be written, and so does the next process', async () => {
    const holder = await holderProcess();
    execFileSync('prlimit', ['--pid', String(holder.child.pid), `--fsize=${holder.walBytes}:unlimited`]);
    holder.say('grant');
    const refused = await holder.next();
    expect(JSON.parse(refused)).toMatchObject({ name: 'FileJournalError', code: 'HEADGATE_FILE_JOURNAL', retryable: false });
    expect(refused).toMatch(/budgets\.journal can't be read or written \(.*\)\. No request is sent/);
    execFileSync('prlimit', ['--pid', String(holder.child.pid), '--fsize=unlimited:unlimited']);
    holder.say('grant');
    expect(await holder.next()).toBe('granted');
    holder.child.kill('SIGKILL');
    await once(holder.child, 'exit');
    const journal = await fileJournal({ file });
    opened.push(journal);
    // The change that was settled before the failed grant is there, too.
    expect(journal.open('other', () => []).restored).toMatchObject([{ heldMs: expect.any(Number) as number }]);
    expect(journal.open('app', () => []).restored).toMatchObject([{ busy: { length: 1 } }]);
  });

  it('is open once at a time: another process or this one is refused, and may have it as soon as the holder has ended', async () => {
    const first = await started();
    await expect(started()).rejects.toThrow(/budgets\.journal is already open, in this process or another one.*Stop one of them/);
    await first.journal.close();
    const { child } = await holderProcess();
    await expect(started()).rejects.toThrow(/is already open/);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await started();
  });

  // Windows has different permissions.
  it.skipIf(process.platform === 'win32')("is its owner's alone, whatever the umask", async () => {
    const umask = process.umask(0);
    onTestFinished(() => void process.umask(umask));
    await started();
    const modes = [folder, join(folder, 'sub'), file, `${file}-wal`].map(async (path) => (await stat(path)).mode & 0o777);
    expect((await Promise.all(modes)).slice(1)).toEqual([0o700, 0o600, 0o600]);
  });

  it('writes a row for each credential that has changed, in one go for all that change at once, and nothing else', async () => {
    const { journal } = await started();
    let at = 0;
    const [one, other] = ['one', 'other'].map((name) => journal.open(name, () => [{ windowMs: (at += 1), busy: [] }]));
    await Promise.all([one?.granted(), other?.granted(), one?.granted()]);
    await other?.granted();
    await journal.close();
    expect(rowsOf(file)).toEqual({ one: [{ windowMs: 1, busy: [] }], other: [{ windowMs: 3, busy: [] }] });
  });

  it('lets a permit wait longer while the disk is slow', async () => {
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

  // On Windows, creating a symbolic link needs a privilege.
  it.skipIf(process.platform === 'win32')('does not treat an unreadable journal as empty, and names it', async () => {
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
    const sizes = [file, `${file}-wal`].map(async (path) => (await stat(path)).size);
    expect((await Promise.all(sizes)).reduce((sum, size) => sum + size)).toBeLessThan(1.2 * 1024 * 1024);
    await journal.close();
  });
});

async function holderProcess() {
  const script = fileURLToPath(new URL('./journal-holder.fixture.ts', import.meta.url));
  const child: ChildProcess = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, file], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  child.stdout?.on('data', (data) => (text += String(data)));
  const next = async (): Promise<string> => {
    while (!text.includes('\n') && child.stdout !== null) await once(child.stdout, 'data');
    const [line = ''] = text.split('\n');
    text = text.slice(line.length + 1);
    return line;
  };
  return { child, walBytes: Number(await next()), next, say: (line: string) => child.stdin?.write(`${line}\n`) };
}
