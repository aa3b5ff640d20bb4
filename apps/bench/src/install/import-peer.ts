import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { PeerName } from './peer-versions.ts';

/** The module in the peers' folder that imports a peer. */
export const PEER_LOADER = 'load.mjs';

/** Imports a peer from the folder in which it is installed. `Module` declares the part of the peer that the caller uses. */
export async function importPeer<Module>(folder: string, name: PeerName): Promise<Module> {
  const loader = (await import(pathToFileURL(join(folder, PEER_LOADER)).href)) as { readonly load: (name: string) => Promise<Module> };
  return loader.load(name);
}
