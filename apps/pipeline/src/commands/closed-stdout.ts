import { constants } from 'node:fs';
import { readFile, readlink } from 'node:fs/promises';
import type { CommandContext } from './command-context.ts';

/**
 * Warns on Linux if the command was started with stdout closed or ignored (`stdio` of Node), because its data would be lost. In both cases, stdout is
 * /dev/null, opened for reading and writing. The redirection `> /dev/null` of a shell opens it only for writing.
 */
export async function warnOfClosedStdout({ stdout, stderr }: Pick<CommandContext, 'stdout' | 'stderr'>): Promise<void> {
  if (!('fd' in stdout) || typeof stdout.fd !== 'number') return;
  const [target, info] = await Promise.all([
    readlink(`/proc/self/fd/${stdout.fd}`).catch(() => ''),
    readFile(`/proc/self/fdinfo/${stdout.fd}`, 'utf8').catch(() => ''),
  ]);
  const flags = parseInt(/^flags:\s*(\d+)$/m.exec(info)?.[1] ?? '0', 8);
  if (target === '/dev/null' && (flags & constants.O_RDWR) !== 0)
    stderr.write('headgate: stdout is closed or ignored, so the output of this command is lost.\n');
}
