// Writes the version of a package into the constant that its code has of it. Runs behind `npm run changeset`.
import { readFile, writeFile } from 'node:fs/promises';

const folder = new URL('../packages/sources/', import.meta.url);
const constant = new URL('src/version.ts', folder);
const { version } = JSON.parse(await readFile(new URL('package.json', folder), 'utf8'));
await writeFile(constant, (await readFile(constant, 'utf8')).replace(/(?<=VERSION = ').*(?=')/u, version));
