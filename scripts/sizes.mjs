// How large a program gets by each entry: bundled with all that it brings, minified, and gzipped.
//   npm run sizes                writes docs/sizes.md, from what is built
//   npm run sizes -- --check     exits 1 where an entry is more than 5 % larger than docs/sizes.md says
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { publishedPackages } from './release/packages.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const table = join(root, 'docs/sizes.md');
/** An entry may grow by so much before the table has to say so. */
const TOLERANCE = 1.05;
/** The table has a tenth of a kB. */
const ROUNDING_BYTES = 100;

const sizes = [];
for (const { folder, manifest } of publishedPackages(root)) {
  for (const [path, target] of Object.entries(manifest.exports)) {
    if (typeof target === 'string') continue;
    const options = { bundle: true, minify: true, platform: 'node', format: 'esm', write: false, logLevel: 'error' };
    const { outputFiles } = await build({ ...options, entryPoints: [join(folder, target.default)] });
    sizes.push({
      name: join(manifest.name, path),
      minified: outputFiles[0].contents.length,
      gzipped: gzipSync(outputFiles[0].contents).length,
    });
  }
}

if (process.argv.includes('--check')) {
  const told = new Map(
    [...readFileSync(table, 'utf8').matchAll(/^\| `(.*)` \| .* \| ([\d.]+) \|$/gmu)].map(([, name, kB]) => [name, 1_000 * kB]),
  );
  const problems = sizes
    .filter(({ name, gzipped }) => !(gzipped <= TOLERANCE * told.get(name) + ROUNDING_BYTES))
    .map(
      ({ name, gzipped }) =>
        `${name} is ${kB(gzipped)} kB gzipped; docs/sizes.md says ${kB(told.get(name) ?? 0)}. Shrink it, or \`npm run sizes\`.`,
    );
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  process.exitCode = problems.length > 0 ? 1 : 0;
} else {
  const rows = sizes.map(({ name, minified, gzipped }) => `| \`${name}\` | ${kB(minified)} | ${kB(gzipped)} |\n`);
  writeFileSync(
    table,
    `# Sizes\n\nAll that an entry exports, bundled by esbuild for Node with what it depends on; a program that imports less gets less. \`npm run sizes\` writes this.\n\n| entry | minified, kB | gzipped, kB |\n|---|---|---|\n${rows.join('')}`,
  );
}

function kB(bytes) {
  return (bytes / 1_000).toFixed(1);
}
