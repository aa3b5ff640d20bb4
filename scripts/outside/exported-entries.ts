import { join } from 'node:path';
import { publishedPackages } from '../release/packages.ts';

/** Names of all entries that can be imported from the packages of the clone at `root`, except modules for worker threads. */
export function exportedEntries(root: string): readonly string[] {
  return publishedPackages(root).flatMap(({ manifest }) =>
    Object.keys(manifest.exports)
      .filter((path) => !path.endsWith('.json') && !path.endsWith('/worker'))
      .map((path) => join(manifest.name, path)),
  );
}
