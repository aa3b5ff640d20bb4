import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from '../../packages/broker/src/free-ports.ts';
import { run } from '../run.ts';

export interface Registry {
  /** Environment variables that make npm publish to this registry and install from it. */
  readonly env: Readonly<Record<string, string>>;
  readonly close: () => void;
}

/** Starts verdaccio on a free port of 127.0.0.1 with its files in `folder`. Other packages than Headgate's come from the registry that npm uses. */
export async function startRegistry(folder: string): Promise<Registry> {
  const home = join(folder, 'registry');
  await installVerdaccio(home);
  const [port] = await freePorts(1);
  const url = `http://127.0.0.1:${port}/`;
  const upstream = (await run(['npm', 'config', 'get', 'registry'])).stdout.trim();
  const open = { access: '$all', publish: '$all', unpublish: '$all' };
  const config = {
    storage: join(home, 'storage'),
    uplinks: { upstream: { url: upstream } },
    auth: { htpasswd: { file: join(home, 'htpasswd') } },
    packages: { '@headgate/*': open, headgate: open, '**': { ...open, proxy: 'upstream' } },
    log: { type: 'stdout', level: 'warn' },
  };
  writeFileSync(join(home, 'config.json'), JSON.stringify(config));
  const cli = join(home, 'node_modules/verdaccio/bin/verdaccio');
  const server = spawn(process.execPath, [cli, '--config', join(home, 'config.json'), '--listen', `127.0.0.1:${port}`], {
    stdio: 'ignore',
  });
  await answering(`${url}-/ping`, server);
  const user = await fetch(`${url}-/user/org.couchdb.user:proof`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'proof', password: 'proof-of-nothing' }),
  });
  const { token } = (await user.json()) as { token: string };
  writeFileSync(join(folder, 'npmrc'), `registry=${url}\n//127.0.0.1:${port}/:_authToken=${token}\n`);
  return {
    env: { npm_config_userconfig: join(folder, 'npmrc'), npm_config_cache: join(folder, 'cache') },
    close: () => void server.kill(),
  };
}

async function installVerdaccio(home: string): Promise<void> {
  mkdirSync(home, { recursive: true });
  // A dependency of verdaccio names a tag that some registries don't have.
  const manifest = { private: true, dependencies: { verdaccio: '6.10.4' }, overrides: { 'node-fetch': '2.7.0' } };
  writeFileSync(join(home, 'package.json'), JSON.stringify(manifest));
  const flags = ['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];
  const { code, stderr } = await run(['npm', 'install', ...flags], { cwd: home });
  if (code !== 0) throw new Error(`verdaccio can't be installed: ${stderr}`);
}

async function answering(url: string, server: ChildProcess): Promise<void> {
  const isUp = async () =>
    await fetch(url)
      .then(({ ok }) => ok)
      .catch(() => false);
  while (!(await isUp())) {
    if (server.exitCode !== null) throw new Error('verdaccio ended before it listened.');
    await new Promise((wake) => setTimeout(wake, 100));
  }
}
