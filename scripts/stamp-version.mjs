// Writes the version of the package sources into the constant in its code. Runs after `changeset version`.
import { readFile, writeFile } from 'node:fs/promises';

const folder = new URL('../packages/sources/', import.meta.url);
const constant = new URL('src/version.ts', folder);
const { version } = JSON.parse(await readFile(new URL('package.json', folder), 'utf8'));
await writeFile(constant, (await readFile(constant, 'utf8')).replace(/(?<=VERSION = ').*(?=')/u, version));
