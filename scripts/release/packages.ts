import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly keywords?: readonly string[];
  readonly homepage?: string;
  readonly bugs?: { readonly url: string };
  readonly license?: string;
  readonly repository?: { readonly directory?: string };
  readonly bin?: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly engines?: { readonly node?: string };
}

export interface PublishedPackage {
  readonly folder: string;
  readonly manifest: Manifest;
}

/** The published packages of the clone at `root`. Packages come after those that they depend on. */
export function publishedPackages(root: string): readonly PublishedPackage[] {
  const packages = ['packages', 'apps']
    .flatMap((room) => readdirSync(join(root, room)).map((name) => join(root, room, name)))
    .map((folder) => ({ folder, manifest: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest }))
    .filter(({ manifest }) => manifest.private !== true);
  const ordered = new Set<PublishedPackage>();
  const add = (entry: PublishedPackage): void => {
    for (const other of packages) if (other.manifest.name in (entry.manifest.dependencies ?? {})) add(other);
    ordered.add(entry);
  };
  packages.forEach(add);
  return [...ordered];
}
