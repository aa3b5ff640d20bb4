import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, mkdtempDisposable, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type Ended, run } from './run.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const LOCK = 'scripts/tools/package-lock.json';

interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly version: string;
  readonly integrity: string;
}

describe('the lockfile of .tools', () => {
  it('has the hash of each package, names no host, and the pnpm that package.json names', async () => {
    const lock = await readFile(join(ROOT, LOCK), 'utf8');
    const { packageManager } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { readonly packageManager: string };
    const { '': _, ...packages } = (JSON.parse(lock) as Lock).packages;
    expect(Object.values(packages).filter(({ integrity }) => !/^sha512-\S{88}$/u.test(integrity))).toEqual([]);
    expect(lock).not.toMatch(/https?:|"resolved"/u);
    expect(`pnpm@${packages['node_modules/pnpm']?.version}`).toBe(packageManager);
  });
});

it('npm reports a script name that does not exist', async () => {
  const { PATH = '' } = process.env;
  expect(await run(['npm', 'run', 'nope'], { cwd: ROOT, env: { PATH } })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Missing script: "nope"') as string,
  });
});

it.each([
  [[], 'run --sandbox'],
  [['--kafka', '--follow'], 'run --sandbox --kafka --follow'],
  [['--help'], '--help'],
  [['plan', '--json'], 'plan --json'],
])('npm start -- %j is headgate %s', async (given, expected) => {
  const { PATH = '' } = process.env;
  const bootstrap = [process.execPath, 'scripts/bootstrap.mjs', 'sh', '-c', 'echo "$*"', 'sh', '--default', 'run', '--sandbox', '--'];
  expect(await run([...bootstrap, ...given], { cwd: ROOT, env: { PATH } })).toEqual({ code: 0, stdout: `${expected}\n`, stderr: '' });
});

it.each(['test.mjs', 'steady.mjs', 'torture.mjs'])('%s ends what it runs when a signal ends it, and ends after it', async (script) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'headgate-signal-'));
  const program = `#!/bin/sh\ntrap 'sleep 1; echo ended; exit 0' TERM\necho started\nwhile kill -0 $PPID; do sleep 0.1; done\n`;
  for (const name of ['turbo', 'vitest']) await writeFile(join(folder.path, name), program, { mode: 0o755 });
  const child = spawn(process.execPath, [`scripts/${script}`, '1', '1'], {
    cwd: ROOT,
    env: { ...process.env, PATH: `${folder.path}:${process.env['PATH']}` },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  let output = '';
  for await (const text of child.stdout.setEncoding('utf8')) {
    output += text as string;
    if (output === 'started\n') child.kill('SIGTERM');
  }
  expect([output, ...(await ended)]).toEqual(['started\nended\n', 130, null]);
});

describe('scripts/bootstrap.mjs in a fresh clone', () => {
  it('runs nothing of a pnpm that is not the one of the lockfile', async () => {
    await using place = await freshClone();
    const { code, stderr } = await place.bootstrap();
    expect([code, stderr]).toEqual([1, expect.stringMatching(/EINTEGRITY[^]*are its packages the ones that the lockfiles name\?/u)]);
    expect(existsSync(place.trace)).toBe(false);
  });

  it('installs, once, a pnpm that is', async () => {
    await using place = await freshClone();
    await place.lockWhatIsServed();
    expect(await place.bootstrap()).toMatchObject({
      code: 0,
      stdout: 'ran\n',
      stderr: expect.stringContaining('installing pnpm@') as string,
    });
    expect(await readFile(place.trace, 'utf8')).toBe('install.js\ninstall --frozen-lockfile\n');
    expect(await place.bootstrap()).toEqual({ code: 0, stdout: 'ran\n', stderr: '' });
  });

  it('installs a Node that knows the syntax of the source where the machine has an older one', async () => {
    await using place = await freshClone();
    await place.lockWhatIsServed();
    expect((await place.bootstrap('22.19.0')).stderr).toMatch(/installing pnpm@[\d.]+ and node-[\w-]+@24/u);
  });
});

interface FreshClone extends AsyncDisposable {
  /** The file in which the served pnpm notes how it was called. */
  readonly trace: string;
  /** Runs bootstrap.mjs. `version` is the version that the machine's Node claims to have. */
  bootstrap(version?: string): Promise<Ended>;
  lockWhatIsServed(): Promise<void>;
}

/**
 * Creates a folder with the files that bootstrap.mjs needs, and a registry whose packages have the right names and versions, but other
 * content.
 */
async function freshClone(): Promise<FreshClone> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-bootstrap-'));
  await using started = new AsyncDisposableStack();
  started.defer(() => rm(folder, { recursive: true }));
  const root = join(folder, 'clone');
  for (const path of ['package.json', 'pnpm-lock.yaml', 'scripts/bootstrap.mjs', 'scripts/tools']) {
    await cp(join(ROOT, path), join(root, path), { recursive: true });
  }
  for (const room of ['packages', 'apps', 'examples', 'node_modules']) await mkdir(join(root, room));
  const lock = JSON.parse(await readFile(join(root, LOCK), 'utf8')) as Lock;
  const trace = join(folder, 'trace');
  const tarballs = await packed(folder, lock, trace);
  const registry = started.use(await startRegistry(lock, tarballs));
  const all = started.move();
  const { PATH = '' } = process.env;
  return {
    trace,
    bootstrap: (version = process.versions.node) => {
      const script = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });`;
      const preloaded = `data:text/javascript,${encodeURIComponent(script)}`;
      return run([process.execPath, '--import', preloaded, join(root, 'scripts/bootstrap.mjs'), 'node', '-p', '"ran"'], {
        cwd: root,
        env: { PATH, HOME: folder, npm_config_registry: registry.url, npm_config_cache: join(folder, 'npm-cache') },
      });
    },
    async lockWhatIsServed() {
      const packages = Object.entries(lock.packages).map(([path, locked]) => {
        const tarball = tarballs.get(nameOf(path));
        return [path, { ...locked, ...(tarball !== undefined && { integrity: integrityOf(tarball) }) }] as const;
      });
      await writeFile(join(root, LOCK), JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }));
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function nameOf(path: string): string {
  return path.replace('node_modules/', '');
}

function integrityOf(tarball: Buffer): string {
  return `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
}

/** A tarball for each package in the lockfile. The program in that of pnpm writes its calls to the file `trace`. */
async function packed(folder: string, { packages }: Lock, trace: string): Promise<ReadonlyMap<string, Buffer>> {
  const tarballs = new Map<string, Buffer>();
  for (const [path, { version }] of Object.entries(packages)) {
    const name = nameOf(path);
    if (name === '') continue;
    const room = join(folder, 'served', name);
    await mkdir(room, { recursive: true });
    const bin = name === 'pnpm' ? { pnpm: 'pnpm' } : undefined;
    await writeFile(join(room, 'package.json'), JSON.stringify({ name, version, bin }));
    if (name === 'pnpm') {
      await writeFile(join(room, 'install.js'), `require('node:fs').appendFileSync(${JSON.stringify(trace)}, 'install.js\\n');`);
      await writeFile(join(room, 'pnpm'), `#!/bin/sh\necho "$1 $2" >> '${trace}'\n`, { mode: 0o755 });
    }
    const { code, stderr } = await run(['npm', 'pack', '--loglevel=error'], {
      cwd: room,
      env: { PATH: process.env['PATH'] ?? '', HOME: folder },
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [file = ''] = (await readdir(room)).filter((found) => found.endsWith('.tgz'));
    tarballs.set(name, await readFile(join(room, file)));
  }
  return tarballs;
}

/** Starts a registry that states the hashes of the packages that it serves. */
async function startRegistry(lock: Lock, tarballs: ReadonlyMap<string, Buffer>): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '').slice(1);
    const tarball = tarballs.get(dirname(path));
    if (tarball !== undefined && path.endsWith('.tgz')) return response.end(tarball);
    const served = tarballs.get(path);
    const version = lock.packages[`node_modules/${path}`]?.version;
    if (served === undefined || version === undefined) return response.writeHead(404).end('{}');
    const dist = { tarball: `http://${request.headers.host}/${path}/it.tgz`, integrity: integrityOf(served) };
    return response.end(JSON.stringify({ name: path, versions: { [version]: { name: path, version, dist } } }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
