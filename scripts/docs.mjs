// Builds the site of the documents.
//   npm run docs               builds the site and prints its folder
//   npm run docs -- --open     also serves it on 127.0.0.1 and opens a browser, until Ctrl-C
import { spawn, spawnSync } from 'node:child_process';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { serveSite } from '../apps/site/site-server.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { open } = parseArgs({ options: { open: { type: 'boolean', default: false } } }).values;
const dist = join(root, 'apps/site/dist');

// The packages are built first, so the first site takes minutes.
process.stderr.write('Building the packages and the site. This takes some minutes, and seconds if nothing has changed.\n');
const { status } = spawnSync('turbo', ['run', 'site', '--output-logs=errors-only'], { cwd: root, stdio: ['ignore', 2, 2] });
if (status !== 0) process.exit(status ?? 1);
process.stdout.write(`The site is in ${relative(process.env.INIT_CWD ?? root, dist)}.\n`);
if (open) {
  const { url } = await serveSite(dist);
  process.stdout.write(`It is served at ${url} until Ctrl-C.\n`);
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open';
  // Without a desktop, no browser opens, but the address is printed.
  spawn(opener, [url], { stdio: 'ignore', detached: true }).on('error', () => undefined);
} else {
  process.stdout.write('To read it in a browser: npm run docs -- --open\n');
}
