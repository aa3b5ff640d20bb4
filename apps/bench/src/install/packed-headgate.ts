import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/** Headgate as it is published. `install` packs it, and npm installs the tarballs into an empty folder. */
export function packedHeadgate(folder: string): { readonly folder: string; readonly command: string; readonly install: () => void } {
  const installed = join(folder, 'installed');
  return {
    folder: installed,
    command: join(installed, 'node_modules/.bin/headgate'),
    install() {
      const tarballs = join(folder, 'tarballs');
      must(process.execPath, [join(ROOT, 'scripts/pack.mjs'), tarballs]);
      const files = readdirSync(tarballs).map((name) => join(tarballs, name));
      must('npm', ['install', '--prefix', installed, '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', ...files]);
    },
  };
}

function must(command: string, args: readonly string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: ['ignore', 2, 2] });
  if (error !== undefined || status !== 0) throw new Error(`\`${[command, ...args].join(' ')}\` failed`, { cause: error });
}
