import type * as FilesPromises from 'node:fs/promises';
import { basename } from 'node:path';

type Files = typeof FilesPromises;
type FileHandle = FilesPromises.FileHandle;

/** A disk whose calls are listed, and one of which may fail: an append then leaves half of its bytes. */
export interface FailingDisk {
  /** The calls, in order, with the file's name. */
  readonly calls: string[];
  /** Handles that are open. */
  open: number;
  /** Counts down with each call; the one that finds 0 fails. */
  failsAfter: number;
}

/** `node:fs/promises` on that disk. */
export function filesOf(disk: FailingDisk, real: Files): Files {
  const call = async <T>(
    name: string,
    path: string,
    work: () => Promise<T>,
    half: () => Promise<unknown> = async () => undefined,
  ): Promise<T> => {
    disk.calls.push(`${name} ${basename(path)}`);
    if (disk.failsAfter-- !== 0) return await work();
    await half();
    throw Object.assign(new Error(`${name}: no space left on device`), { code: 'ENOSPC' });
  };
  const watched = (handle: FileHandle, path: string): FileHandle =>
    new Proxy(handle, {
      get(target, name) {
        switch (name) {
          case 'appendFile':
            return (bytes: Buffer) =>
              call(
                'append',
                path,
                () => target.appendFile(bytes),
                () => target.appendFile(bytes.subarray(0, bytes.length / 2)),
              );
          case 'datasync':
          case 'sync':
            return () => call('sync', path, () => target[name]());
          case 'truncate':
            return (length: number) => call('truncate', path, () => target.truncate(length));
          case 'close':
            return async () => {
              await target.close();
              disk.open -= 1;
            };
          default:
            return Reflect.get(target, name, target) as unknown;
        }
      },
    });
  const open = (path: string, flags?: string | number, mode?: number): Promise<FileHandle> =>
    call('open', path, async () => {
      const handle = await real.open(path, flags, mode);
      disk.open += 1;
      return watched(handle, path);
    });
  const rename = (from: string, to: string): Promise<void> => call('rename', from, () => real.rename(from, to));
  return { ...real, open, rename } as Files;
}
