import { execFile } from 'node:child_process';
import { mkdtemp, rm, rmdir, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A small filesystem in memory. */
export interface SmallDisk extends AsyncDisposable {
  readonly folder: string;
  /** Fills the filesystem except for this many bytes. */
  fill(leaveBytes: number): Promise<void>;
  /** Number of free bytes. */
  free(): Promise<number>;
  /** Removes what `fill` wrote. */
  empty(): Promise<void>;
}

/** Mounts a filesystem of this many MB. Returns the reason if that isn't permitted. */
export async function smallDisk({ megabytes }: { readonly megabytes: number }): Promise<SmallDisk | string> {
  if (process.platform !== 'linux') return 'a small filesystem is made on Linux only';
  const folder = await mkdtemp(join(tmpdir(), 'headgate-disk-'));
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]);
  } catch (error) {
    await rmdir(folder);
    return `a filesystem can't be mounted here: ${error instanceof Error ? error.message.trim().split('\n').at(-1) : ''}`;
  }
  const filler = join(folder, 'filler');
  const free = async (): Promise<number> => {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  };
  return {
    folder,
    free,
    async fill(leaveBytes) {
      try {
        await writeFile(filler, Buffer.alloc(Math.max(0, (await free()) - leaveBytes)));
      } catch (error) {
        // Another process has written meanwhile, so the filesystem is already full.
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
      }
    },
    empty: async () => rm(filler, { force: true }),
    async [Symbol.asyncDispose]() {
      await run('umount', ['--lazy', folder]);
      await rmdir(folder);
    },
  };
}

/** Runs `work` with `folder` as the place for temporary folders. */
export async function withTemporaryFoldersIn<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = folder;
  try {
    return await work();
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
}
