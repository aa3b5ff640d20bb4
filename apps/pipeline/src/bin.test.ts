import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const BIN = fileURLToPath(new URL('bin.ts', import.meta.url));

it.each([
  ['20.20.2', 2],
  ['22.18.0', 2],
  ['22.19.0', 0],
  ['24.0.0', 0],
])('on Node %s the installed command ends with %d', async (version, code) => {
  // Replaces the version before bin.ts reads it.
  const asIf = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`;
  const flags = ['--conditions=@headgate/source', '--disable-warning=ExperimentalWarning', `--import=data:text/javascript,${asIf}`];
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, BIN, '--version'], { encoding: 'utf8' });
  const manifest = await readFile(new URL('../package.json', import.meta.url), 'utf8');
  const { version: own, engines } = JSON.parse(manifest) as { readonly version: string; readonly engines: { readonly node: string } };
  const complaint = `headgate needs Node 22.19 or later; this is ${version}.\n`;
  expect([status, stdout, stderr]).toEqual(code === 0 ? [0, `${own}\n`, ''] : [2, '', complaint]);
  expect(engines.node).toBe('>=22.19');
});

it('ends when a slow reader has all that was written, where pipes are asynchronous', () => {
  // A stdout that takes 700 ms for each chunk, longer than `LINGER_MS` in main.ts.
  const slow = `import { writeSync } from 'node:fs';
    import { Writable } from 'node:stream';
    const write = (chunk, _, done) => setTimeout(() => { writeSync(1, chunk); done(); }, 700);
    Object.defineProperty(process, 'stdout', { value: new Writable({ write, decodeStrings: false }) });`;
  const flags = [
    '--conditions=@headgate/source',
    '--disable-warning=ExperimentalWarning',
    `--import=data:text/javascript,${encodeURIComponent(slow)}`,
  ];
  const { status, stdout } = spawnSync(process.execPath, [...flags, BIN, '--version'], { encoding: 'utf8' });
  expect([status, stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
});

it('reports that its folder was deleted', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gone-'));
  const command = `cd "$0" && rmdir "$0" && exec "$@"`;
  const flags = ['--conditions=@headgate/source', '--disable-warning=ExperimentalWarning'];
  const { status, stdout, stderr } = spawnSync('sh', ['-c', command, folder, process.execPath, ...flags, BIN, 'check'], {
    encoding: 'utf8',
  });
  expect([status, stdout, stderr]).toEqual([2, '', 'headgate: the working folder no longer exists. Change to another one.\n']);
});

/** `fast-string-width` and the package that it imports. */
const WIDTHS = ['fast-string-width', 'fast-string-truncated-width'];

it.each(['--version', '--help', 'run --help'])('%s loads nothing but the command line', (answer) => {
  const tell = `import { registerHooks } from 'node:module';
    registerHooks({ load: (url, context, next) => { process.stderr.write(url + String.fromCharCode(10)); return next(url, context); } });`;
  const flags = [
    '--conditions=@headgate/source',
    '--disable-warning=ExperimentalWarning',
    `--import=data:text/javascript,${encodeURIComponent(tell)}`,
  ];
  const { status, stderr } = spawnSync(process.execPath, [...flags, BIN, ...answer.split(' ')], { encoding: 'utf8' });
  const packages = stderr
    .split('\n')
    .flatMap((url) => /\/(?:node_modules|packages)\/(?!\.pnpm)(?<name>[^/]+)/u.exec(url)?.groups?.['name'] ?? []);
  expect([status, [...new Set(packages)]]).toEqual([0, ['commander', ...WIDTHS]]);
});
