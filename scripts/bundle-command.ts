// Bundles the command `headgate` into few files, because it starts faster than with hundreds of modules.
//   node scripts/bundle-command.ts FOLDER      replaces FOLDER with them, and writes the files of the status page also to apps/pipeline/dist
import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

interface BundledFile {
  readonly name: string;
  readonly content: string | Uint8Array;
}

const root = dirname(import.meta.dirname);
const app = join(root, 'apps/pipeline');
/** Packages that are loaded only when they are needed. lz4js has no license file, so it can't be bundled. */
const LATE = /^(?:@opentelemetry\/api|avsc|log-update|lz4js|protobufjs)(?:$|\/)/u;

/** Bundles the command, unless it has been bundled from the same sources. Returns the path of the file to run. */
export async function bundledCommand(): Promise<string> {
  const home = join(app, '.headgate');
  const folder = join(home, `command-${sourceHash()}`);
  if (!existsSync(folder)) {
    const files = await bundle();
    mkdirSync(home, { recursive: true });
    const unfinished = mkdtempSync(join(home, 'unfinished-'));
    write(files, unfinished);
    try {
      renameSync(unfinished, folder);
    } catch {
      // Another process has created the folder meanwhile.
      rmSync(unfinished, { recursive: true });
    }
  }
  utimesSync(folder, new Date(), new Date());
  removeUnused(home);
  return join(folder, 'bin.js');
}

/** A hash of everything that a bundle is made from. The lockfile stands for installed packages. */
function sourceHash(): string {
  const hash = createHash('sha256');
  const own = globSync(['{packages/*,apps/pipeline}/{package.json,src/**/*}', 'pnpm-lock.yaml', 'scripts/bundle-command.ts'], {
    cwd: root,
  });
  for (const file of own.filter((name) => !/\.test\.|\/\./u.test(name)).toSorted()) {
    if (statSync(join(root, file)).isFile()) hash.update(file).update(readFileSync(join(root, file)));
  }
  return hash.digest('hex').slice(0, 16);
}

/** Removes bundles that haven't been used for a day. */
function removeUnused(home: string): void {
  const dayAgo = Date.now() - 86_400_000;
  for (const entry of readdirSync(home)) {
    const path = join(home, entry);
    if (/^(?:command|unfinished)-/u.test(entry) && (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) < dayAgo)
      rmSync(path, { recursive: true, force: true });
  }
}

async function bundle(): Promise<readonly BundledFile[]> {
  await using bundled = await rolldown({
    input: { bin: join(app, 'src/bin.ts'), worker: join(root, 'packages/topics/src/sqlite/worker.ts') },
    platform: 'node',
    external: LATE,
    resolve: {
      conditionNames: ['@headgate/source'],
      // For Node, rxjs resolves to CommonJS modules, from which a bundler can't remove unused parts.
      alias: { rxjs: join(app, 'node_modules/rxjs/dist/esm/index.js') },
    },
  });
  const { output } = await bundled.generate({ format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' });
  const moduleIds = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
  return [
    ...output.map((file) => ({ name: file.fileName, content: file.type === 'chunk' ? file.code : file.source })),
    ...pageFiles(),
    { name: 'LICENSES.txt', content: licenses(moduleIds) },
  ];
}

function pageFiles(): readonly BundledFile[] {
  return ['page.html', 'page.mjs', 'page.css'].map((name) => ({ name, content: readFileSync(join(app, 'src/status/page', name)) }));
}

/** The licenses of the bundled packages, which must be distributed with the code. */
function licenses(moduleIds: readonly string[]): string {
  const folders = new Set(moduleIds.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/u.exec(id)?.[0] ?? []));
  const texts = Array.from(folders, (folder) => {
    const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name: string; version: string };
    const file = readdirSync(folder).find((one) => /^licen[sc]e/iu.test(one));
    if (file === undefined) throw new Error(`${name} has no license file: leave it out of the bundle.`);
    return `${name} ${version}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
  });
  return texts.toSorted().join('\n\n');
}

function write(files: readonly BundledFile[], folder: string, { isEmptied = true } = {}): void {
  if (isEmptied) rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const { name, content } of files) writeFileSync(join(folder, name), content);
}

const [, script = '', folder] = process.argv;
if (resolve(script) === fileURLToPath(import.meta.url) && folder !== undefined) {
  write(await bundle(), resolve(folder));
  write(pageFiles(), join(app, 'dist/status/page'), { isEmptied: false });
}
