import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Bundles the program in the folder `from`, with the worker thread of the embedded log, into a folder in which nothing is installed. */
export function bundled({ from, to, esbuild = join(from, 'node_modules/.bin/esbuild') }: BundledOptions): void {
  const banner = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
  const flags = ['--bundle', '--platform=node', '--format=esm', `--banner:js=${banner}`, `--outdir=${to}`];
  const { status, stderr } = spawnSync(esbuild, ['program.mjs', 'worker=@headgate/topics/sqlite/worker', '--log-level=warning', ...flags], {
    cwd: from,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`esbuild: ${stderr}`);
  writeFileSync(join(to, 'package.json'), '{ "type": "module" }');
}

export interface BundledOptions {
  readonly from: string;
  readonly to: string;
  readonly esbuild?: string;
}
