import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { PeerName } from './peer-versions.ts';

/** The file in the peers' folder that imports them. */
export const PEER_LOADER = 'load.mjs';

/** Imports a peer from the folder it was installed in; `Module` is what the caller uses of it. */
export async function importPeer<Module>(folder: string, name: PeerName): Promise<Module> {
  const loader = (await import(pathToFileURL(join(folder, PEER_LOADER)).href)) as { readonly load: (name: string) => Promise<Module> };
  return loader.load(name);
}
