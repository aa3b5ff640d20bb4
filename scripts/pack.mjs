// Builds and packs everything that is published, also in a fresh clone.
//   npm run pack -- DIR      writes the tarballs of all packages and of the app to DIR
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publishedPackages } from './release/packages.ts';
import { run } from './run.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const given = process.argv.slice(2);
if (given.length !== 1) {
  process.stderr.write('Name the folder that the tarballs go to: npm run pack -- DIR\n');
  process.exit(2);
}
// A relative path refers to the caller's folder.
const destination = resolve(process.env.INIT_CWD ?? process.cwd(), given[0]);
mkdirSync(destination, { recursive: true });

const published = publishedPackages(root);
// An earlier build, for example of another branch, may have left modules that this build doesn't create. Turbo's cache can contain them, too.
for (const { folder } of published) rmSync(join(folder, 'dist'), { recursive: true, force: true });
await must(root, 'turbo', 'run', 'build', '--force');
for (const { folder } of published) await must(folder, 'pnpm', 'pack', '--pack-destination', destination);
process.stdout.write(
  readdirSync(destination)
    .map((name) => `${name}\n`)
    .join(''),
);

async function must(cwd, ...command) {
  const { code, stdout, stderr } = await run(command, { cwd });
  if (code === 0) return;
  process.stderr.write(`${stdout}${stderr}\`${command.join(' ')}\` failed in ${cwd}.\n`);
  process.exit(1);
}
