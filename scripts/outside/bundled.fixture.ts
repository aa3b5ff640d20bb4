import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';

/** Bundles the program in the folder `from`, with the worker thread of the embedded log, into the folder `to`, in which nothing is installed. */
export function bundled(from: string, to: string): void {
  buildSync({
    absWorkingDir: from,
    entryPoints: { program: 'program.mjs', worker: '@headgate/topics/sqlite/worker' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    outdir: to,
  });
  writeFileSync(join(to, 'package.json'), '{ "type": "module" }');
}
