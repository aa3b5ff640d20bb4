import { readFile } from 'node:fs/promises';

/** Clock ticks per second: USER_HZ on Linux. */
const TICKS_PER_S = 100;

/** CPU time of a process so far, ms. Linux only. */
export async function cpuMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The second field is the name, which can contain spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS_PER_S;
}

/** Resident memory of a process, now and at its peak, MB. Linux only. 0 after its end. */
export async function memoryMb(pid: number): Promise<{ readonly now: number; readonly peak: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const megabytes = (name: string): number => Math.round(Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) / 1_024);
  return { now: megabytes('VmRSS'), peak: megabytes('VmHWM') };
}

/** Prints a figure in a run at full length. Shorter runs don't give reliable figures. */
export function reportFigure(text: string): void {
  if (process.env['HEADGATE_TORTURE'] === '1') process.stdout.write(`${text}\n`);
}
