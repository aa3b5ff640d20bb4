import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ESBUILD = join(import.meta.dirname, '../../node_modules/.bin/esbuild');

/** Bundles the program in the folder `from`, with the worker thread of the embedded log, into the folder `to`, in which nothing is installed. */
export function bundled(from: string, to: string): void {
  const banner = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
  const flags = ['--bundle', '--platform=node', '--format=esm', `--banner:js=${banner}`, `--outdir=${to}`];
  const { status, stderr } = spawnSync(ESBUILD, ['program.mjs', 'worker=@headgate/topics/sqlite/worker', '--log-level=warning', ...flags], {
    cwd: from,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`esbuild: ${stderr}`);
  writeFileSync(join(to, 'package.json'), '{ "type": "module" }');
}
