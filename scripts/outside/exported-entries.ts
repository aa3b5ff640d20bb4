import { join } from 'node:path';
import { publishedPackages } from '../release/packages.ts';

/** Names of all that can be imported of the packages of the clone at `root`; a thread's module isn't for import. */
export function exportedEntries(root: string): readonly string[] {
  return publishedPackages(root).flatMap(({ manifest }) =>
    Object.keys(manifest.exports)
      .filter((path) => !path.endsWith('.json') && !path.endsWith('/worker'))
      .map((path) => join(manifest.name, path)),
  );
}
