import { constants } from 'node:fs';
import { readFile, readlink } from 'node:fs/promises';
import type { CommandContext } from './command-context.ts';

/**
 * Says so where a command writes its data to a stdout that was closed. Node opens /dev/null in its place, for reading and writing, and nothing
 * fails; who throws the data away on purpose opens it for writing alone, as shells do. Seen on Linux only.
 */
export async function warnOfClosedStdout({ stdout, stderr }: Pick<CommandContext, 'stdout' | 'stderr'>): Promise<void> {
  if (!('fd' in stdout) || typeof stdout.fd !== 'number') return;
  const [target, info] = await Promise.all([
    readlink(`/proc/self/fd/${stdout.fd}`).catch(() => ''),
    readFile(`/proc/self/fdinfo/${stdout.fd}`, 'utf8').catch(() => ''),
  ]);
  const flags = parseInt(/^flags:\s*(\d+)$/m.exec(info)?.[1] ?? '0', 8);
  if (target === '/dev/null' && (flags & constants.O_RDWR) !== 0)
    stderr.write('headgate: stdout is closed, so the output of this command is lost.\n');
}
