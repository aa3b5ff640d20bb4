import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { FailingDisk } from './failing-disk.fixture.ts';
import { JournalFile, makeFolder } from './journal-file.ts';

const disk: FailingDisk = vi.hoisted(() => ({ calls: [], open: 0, failsAfter: -1 }));
vi.mock('node:fs/promises', async (importOriginal) => {
  const { filesOf } = await import('./failing-disk.fixture.ts');
  return filesOf(disk, await importOriginal());
});

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-journal-'));
  file = join(folder, 'j');
  Object.assign(disk, { calls: [], open: 0, failsAfter: -1 });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('JournalFile', () => {
  it('is durable under its name before it is used: the file first, then the folder that names it', async () => {
    const journal = await JournalFile.replace(file, 'a\n');
    const made = ['open j.new', 'append j.new', 'sync j.new', 'rename j.new', `open ${basename(folder)}`, `sync ${basename(folder)}`];
    expect(disk.calls.splice(0)).toEqual(made);
    await journal.append('b\n');
    expect(disk.calls.splice(0)).toEqual(['append j.new', 'sync j.new']);
    await journal.replace('c\n');
    expect(disk.calls.splice(0)).toEqual(made);
    await journal.close();
    expect(await readFile(file, 'utf8')).toBe('c\n');
  });

  it('keeps whole lines alone, each that was confirmed among them, and leaves no file open, whichever call fails', async () => {
    const calls = await scenario();
    expect(calls).toBeGreaterThan(10);
    for (let failing = 0; failing < calls; failing += 1) {
      await rm(file, { force: true });
      disk.failsAfter = failing;
      await scenario();
      expect(disk.failsAfter, 'it failed').toBeLessThan(0);
    }
  });

  it('makes its folder for its owner alone, and the names of all that it makes durable', async () => {
    await makeFolder(join(folder, 'a', 'b', 'j'));
    expect(disk.calls.filter((call) => call.startsWith('sync'))).toEqual(['sync a', `sync ${basename(folder)}`]);
    for (const made of ['a', 'a/b']) expect((await stat(join(folder, made))).mode & 0o777).toBe(0o700);
    await makeFolder(join(folder, 'a', 'b', 'j'));
    expect(disk.calls).toHaveLength(4);
  });
});

/** A journal's life, in which every failing call is retried once. Resolves to the number of calls. */
async function scenario(): Promise<number> {
  const before = disk.calls.length;
  const journal = await again(() => JournalFile.replace(file, 'first\n'));
  const expected = ['first'];
  for (const line of ['a', 'b', 'c']) {
    await again(() => journal.append(`${line}\n`));
    expected.push(line);
    if (line === 'b') await again(() => journal.replace(expected.map((one) => `${one}\n`).join('')));
    expect((await readFile(file, 'utf8')).trimEnd().split('\n')).toEqual(expected);
  }
  await journal.close();
  expect(disk.open).toBe(0);
  return disk.calls.length - before;
}

async function again<T>(work: () => Promise<T>): Promise<T> {
  return await work().catch(work);
}
