import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PEER_LOADER } from './import-peer.ts';
import { PEER_VERSIONS } from './peer-versions.ts';

/** Installs the peers with npm if they aren't installed yet. Throws an `Error` if npm fails. */
export function installPeers(folder: string, say: (text: string) => void): void {
  const wanted = Object.entries(PEER_VERSIONS).map(([name, version]) => `${name}@${version}`);
  const stamp = join(folder, 'stamp');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted.join(' ')) return;
  say(`installing ${wanted.join(', ')} (once)`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"private":true}\n');
  const flags = ['install', '--prefix', folder, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status, error } = spawnSync('npm', [...flags, ...wanted], {
    stdio: ['ignore', 2, 2],
  });
  if (error !== undefined || status !== 0)
    throw new Error(`npm could not install the peers into ${folder}. Is a package registry reachable?`, { cause: error });
  // This module lies next to the peers' `node_modules`, so that Node finds the peers as it does from a user's program.
  writeFileSync(join(folder, PEER_LOADER), 'export const load = (name) => import(name);\n');
  writeFileSync(stamp, wanted.join(' '));
}
