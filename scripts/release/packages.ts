import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly bin?: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

export interface PublishedPackage {
  readonly folder: string;
  readonly manifest: Manifest;
}

/** The published packages of the clone at `root`. */
export function publishedPackages(root: string): readonly PublishedPackage[] {
  return ['packages', 'apps']
    .flatMap((room) => readdirSync(join(root, room)).map((name) => join(root, room, name)))
    .map((folder) => ({ folder, manifest: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest }))
    .filter(({ manifest }) => manifest.private !== true);
}
