// Measures how large a program becomes with each entry: bundled with all dependencies, minified, and gzipped.
//   npm run sizes                writes docs/sizes.md from the build output
//   npm run sizes -- --check     exits with 1 if an entry is more than 5 % larger than docs/sizes.md says
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { publishedPackages } from './release/packages.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const path = join(root, 'docs/sizes.md');
/** Factor by which an entry can grow before the table must be updated. */
const TOLERANCE = 1.05;
/** The table rounds to a tenth of a kB. */
const ROUNDING_BYTES = 100;

/** Single exports that programs import. For Node, rxjs is CommonJS, from which a bundler can't remove unused parts. With `neutral`, it is ESM. */
const SINGLE = [
  ['@headgate/throttle', 'rateBudget', 'node'],
  ['@headgate/throttle', 'limiter', 'node'],
  ['@headgate/throttle', 'limiter', 'neutral'],
  ['@headgate/throttle', 'PageStream', 'neutral'],
  ['@headgate/operators', 'flattenIds', 'neutral'],
];

const packages = publishedPackages(root);
const entries = [];
for (const { folder, manifest } of packages) {
  for (const [entry, target] of Object.entries(manifest.exports)) {
    if (typeof target === 'string') continue;
    entries.push(await bundled(`\`${join(manifest.name, entry)}\``, { entryPoints: [join(folder, target.default)], platform: 'node' }));
  }
}
const single = [];
for (const [name, thing, platform] of SINGLE) {
  const { folder, manifest } = packages.find((one) => one.manifest.name === name);
  const stdin = { contents: `export { ${thing} } from './${manifest.exports['.'].default}';`, resolveDir: folder };
  single.push(await bundled(`\`${thing}\` of \`${name}\`, ${platform}`, { stdin, platform }));
}
const sizes = [...entries, ...single];

if (process.argv.includes('--check')) {
  const told = new Map(
    [...readFileSync(path, 'utf8').matchAll(/^\| (.*) \| [\d.]+ \| ([\d.]+) \|$/gmu)].map(([, name, kB]) => [name, 1_000 * kB]),
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
  writeFileSync(
    path,
    `# Sizes

All that an entry exports, bundled by esbuild for Node with what it depends on. \`npm run sizes\` writes this.

${table('entry', entries)}
A program that imports less gets less. For Node, a bundler takes the rxjs that is CommonJS, whole; \`neutral\` is esbuild's \`--platform=neutral\`, as for browsers and workers.

${table('one function', single)}`,
  );
}

async function bundled(name, options) {
  const { outputFiles } = await build({ bundle: true, minify: true, format: 'esm', write: false, logLevel: 'error', ...options });
  return { name, minified: outputFiles[0].contents.length, gzipped: gzipSync(outputFiles[0].contents).length };
}

function table(title, rows) {
  const lines = rows.map(({ name, minified, gzipped }) => `| ${name} | ${kB(minified)} | ${kB(gzipped)} |\n`);
  return `| ${title} | minified, kB | gzipped, kB |\n|---|---|---|\n${lines.join('')}`;
}

function kB(bytes) {
  return (bytes / 1_000).toFixed(1);
}
