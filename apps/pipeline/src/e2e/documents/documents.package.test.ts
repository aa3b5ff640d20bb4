import { spawnSync } from 'node:child_process';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { publishedPackages } from '../../../../../scripts/release/packages.ts';
import { run } from '../../../../../scripts/run.ts';
import { runCommandLine } from '../../command-line.ts';
import { loadConfig } from '../../config/config-folder.fixture.ts';
import { type Block, ROOT, allBlocks, placeOf } from './documents.fixture.ts';
import { ENV, type JobFolders, jobFolders } from './job-folder.fixture.ts';
import { type Services, startServices } from './services.fixture.ts';
import { shellCommands } from './shell-commands.fixture.ts';

/** The test for this page (kafka/consuming.package.test.ts) runs its blocks. */
const RUN_BESIDE_A_BROKER = 'docs/consuming.md';
/** The folders of the published packages, without the app. */
const PACKAGES = publishedPackages(ROOT)
  .map(({ folder }) => relative(join(ROOT, 'packages'), folder))
  .filter((name) => !name.startsWith('..'));
/** A folder in the app, so that its programs can import all packages. */
const FOLDER = join(ROOT, 'apps/pipeline/src', `.readme-${process.pid}`);
/** The tools that scripts of the documents can use. */
const TOOLS = [
  'cat',
  'chmod',
  'cp',
  'duckdb',
  'echo',
  'head',
  'headgate',
  'jq',
  'mv',
  'npm',
  'printf',
  'rm',
  'sort',
  'sqlite3',
  'uniq',
  'wc',
];
const missingTools = TOOLS.filter(
  (tool) => !['headgate', 'npm'].includes(tool) && spawnSync('sh', ['-c', `command -v ${tool}`]).status !== 0,
);

const { scripts: SCRIPTS } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { readonly scripts: object };

const blocks = (await allBlocks()).filter(({ document }) => document !== RUN_BESIDE_A_BROKER);
const programs = blocks.filter(({ language }) => language === 'ts');
const scripts = blocks.filter(({ language }) => language === 'sh');
const configs = blocks.filter(({ language }) => language === 'yaml');
/** The configuration of the job in docs/start.md, which other pages continue. */
const JOB = configs.findLast(({ document }) => document === 'docs/start.md')?.text ?? '';

let services: Services;
let folders: JobFolders;

beforeAll(async () => {
  services = await startServices();
  folders = await jobFolders({ config: services.pointed(JOB), module: moduleOfPipelines() });
});
afterAll(async () => {
  await folders?.[Symbol.asyncDispose]();
  await services?.[Symbol.asyncDispose]();
});

it('each block is in a language that is checked here, or says why it is not run', () => {
  const pictures = blocks.filter(({ language }) => language === 'text');
  const checked = new Set<Block>([...programs, ...scripts, ...configs, ...pictures]);
  expect(blocks.filter((block) => !checked.has(block) && block.notRun === undefined).map(placeOf)).toEqual([]);
});

it('each excerpt of a file appears in it', async () => {
  for (const block of blocks.filter(({ from }) => from !== undefined))
    expect(await readFile(join(ROOT, block.from ?? ''), 'utf8'), placeOf(block)).toContain(block.text);
});

it.each(blocks.flatMap((block) => (block.notRun === undefined ? [] : [[placeOf(block), block.notRun]])))('%s: not run: %s', (_, reason) => {
  expect(reason).toMatch(/^\w.{5,}$/);
});

describe('programs', () => {
  const whole = programs.filter(({ from }) => from === undefined);
  const files = new Map(whole.map((block, index) => [block, join(FOLDER, String(index), 'example.ts')]));
  const run = whole.filter(({ notRun }) => notRun === undefined);
  let ends: ReadonlyMap<Block, { readonly failed?: string; readonly output: string }>;

  beforeAll(async () => {
    for (const [block, file] of files) {
      await mkdir(join(file, '..'), { recursive: true });
      await writeFile(file, services.pointed(block.code));
      await writeFile(join(file, '../issues.ts'), moduleOfPipelines());
    }
  });
  afterAll(async () => {
    await rm(FOLDER, { recursive: true, force: true });
  });

  it('each compiles, as strictly as this repository', async () => {
    const options = { noEmit: true, declaration: false, declarationMap: false, isolatedDeclarations: false, noUnusedLocals: false };
    const config = join(FOLDER, 'tsconfig.json');
    const declared = [...files.values(), join(ROOT, 'packages/topics/src/kafka/untyped-modules.d.ts')];
    await writeFile(config, JSON.stringify({ extends: '../../../../tsconfig.base.json', compilerOptions: options, files: declared }));
    const { code, stdout } = await runNode([join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', config]);
    const told = whole.reduce((text, block) => text.replaceAll(relative(ROOT, files.get(block) ?? ''), placeOf(block)), stdout);
    expect(code, told).toBe(0);
  });

  beforeAll(async () => {
    const list = join(FOLDER, 'list.json');
    const folders = run.map((block) => ({ file: files.get(block) ?? '', cwd: join(files.get(block) ?? '', '..') }));
    await writeFile(list, JSON.stringify(folders));
    const runner = join(import.meta.dirname, 'run-examples.fixture.ts');
    const { stdout, stderr } = await runNode(['--conditions=@headgate/source', '--disable-warning=ExperimentalWarning', runner, list]);
    const lines = stdout.split('\n').filter((line) => line !== '');
    ends = new Map(
      run.map((block, index) => [block, JSON.parse(lines[index] ?? JSON.stringify({ failed: stderr || 'it ended the process' }))]),
    );
  });

  it.each(run.map((block) => [placeOf(block), block] as const))('%s runs', (_, block) => {
    const { failed, output } = ends.get(block) ?? {};
    expect(failed, `${block.code}\n${output}`).toBeUndefined();
    expect((output ?? '').split('\n')).toEqual(expect.arrayContaining(promised(block.text)));
  });
});

it("a package's README tells users to install each package that its examples import", () => {
  for (const [document, ofDocument = []] of Object.entries(Object.groupBy(programs, ({ document }) => document))) {
    if (!PACKAGES.some((name) => document === `packages/${name}/README.md`)) continue;
    const installed = scripts.filter((script) => script.document === document).flatMap(({ text }) => text.match(/npm install .*/g) ?? []);
    for (const block of ofDocument) {
      const imported = [...block.text.matchAll(/from '(?!node:|\.)((?:@[^/']+\/)?[^/']+)/g)].map(([, name]) => name);
      expect(
        imported.filter(
          (name) =>
            !installed
              .join(' ')
              .split(' ')
              .includes(name ?? ''),
        ),
        placeOf(block),
      ).toEqual([]);
    }
  }
});

it("docs/errors.md and a package's README have each code of its errors, and a report each that a source names", async () => {
  const all = new Set<string>();
  for (const name of PACKAGES) {
    const readme = await readFile(join(ROOT, 'packages', name, 'README.md'), 'utf8');
    const reports = (await filesBelow(join(ROOT, 'docs/api', name))).join('');
    const codes = new Set(reports.match(/HEADGATE_[A-Z_]+/g));
    for (const code of codes) all.add(code);
    expect(
      [...codes].filter((code) => !readme.includes(code) && !readme.includes(`\`${code.replace('HEADGATE_', '')}\``)),
      name,
    ).toEqual([]);
  }
  const page = await readFile(join(ROOT, 'docs/errors.md'), 'utf8');
  expect(
    [...all].filter((code) => !page.includes(`\`${code}\``)),
    'docs/errors.md',
  ).toEqual([]);
  for (const name of PACKAGES) {
    const source = (await filesBelow(join(ROOT, 'packages', name, 'src'), /(?<!\.(?:test|fixture))\.ts$/)).join('');
    const named = Array.from(source.matchAll(/code: '(HEADGATE_[A-Z_]+)'/g), ([, code = '']) => code);
    expect(
      named.filter((code) => !all.has(code)),
      name,
    ).toEqual([]);
  }
});

async function filesBelow(folder: string, names = /\.md$/): Promise<readonly string[]> {
  const found = await readdir(folder, { recursive: true });
  return await Promise.all(found.filter((name) => names.test(name)).map(async (name) => await readFile(join(folder, name), 'utf8')));
}

describe('scripts', () => {
  const whole = scripts.filter(({ from }) => from === undefined);

  it.each(whole.map((block) => [placeOf(block), block] as const))('%s has only existing commands and options', async (_, { text }) => {
    const wrong: string[] = [];
    for (const words of shellCommands(text)) wrong.push(...(await faultsOf(words)));
    expect(wrong).toEqual([]);
  });

  const run = whole.filter(({ notRun }) => notRun === undefined);
  describe.each(Object.entries(Object.groupBy(run, ({ document }) => document)))('%s', (document, ofDocument = []) => {
    let folder: string;
    beforeAll(async () => {
      folder = await folders.of(document, await filesOf(document));
    });
    it.for(ofDocument.map((block) => [block.line, block] as const))('line %i runs', async ([, { code: text }], { skip }) => {
      const called = shellCommands(text).map(([tool = '']) => tool);
      expect(
        called.filter((tool) => !TOOLS.includes(tool)),
        'it needs a reason before it: <!-- not run: … -->',
      ).toEqual([]);
      const missing = called.find((tool) => missingTools.includes(tool));
      if (missing !== undefined) return skip(`${missing} is not installed`);
      const { code, stdout, stderr } = await folders.sh(folder, services.pointed(text));
      expect(code, `${text}\n${stdout}\n${stderr}`).toBe(0);
      expect(stdout.split('\n')).toEqual(expect.arrayContaining(promised(text)));
    });
  });
});

describe('configurations', () => {
  const whole = configs.filter(({ from }) => from === undefined);
  it.each(whole.map((block) => [placeOf(block), block] as const))('%s is read', async (_, { document, code, notRun }) => {
    const sections = parse(code) as Readonly<Record<string, unknown>>;
    const folder = await folders.of(`${document}-yaml`, await filesOf(document));
    const isWhole = code.startsWith('# headgate.yaml');
    await writeFile(join(folder, 'headgate.yaml'), isWhole ? code : stringify(withSections(sections)), { mode: 0o600 });
    expect(notRun === undefined ? await problemOf(folder, code) : '').toBe('');
  });
});

/** The lines that an example claims to print: `// => one`, `# => two`. */
function promised(text: string): string[] {
  return [...text.matchAll(/(?:\/\/|#) => (.+)$/gm)].map(([, line = '']) => line);
}

/** Files that a reader of the page has: the page's configuration, and the files of its excerpts. */
async function filesOf(document: string): Promise<Record<string, string>> {
  const config = configs.find((block) => block.document === document && block.text.startsWith('# headgate.yaml'));
  const shown = blocks.flatMap((block) => (block.document === document && block.from !== undefined ? [block.from] : []));
  const files = await Promise.all(shown.map(async (path) => [basename(path), await readFile(join(ROOT, path), 'utf8')] as const));
  return { ...Object.fromEntries(files), ...(config !== undefined && { 'headgate.yaml': services.pointed(config.text) }) };
}

/** Merges sections into the configuration of the job. Replaces `topics` as a whole. */
function withSections(sections: Readonly<Record<string, unknown>>): unknown {
  const all = { ...(parse(JOB) as Record<string, unknown>) };
  for (const [name, section] of Object.entries(sections))
    all[name] = name === 'topics' || typeof section !== 'object' ? section : { ...(all[name] as object | undefined), ...section };
  return all;
}

/** The module that a reader of @headgate/pipeline's README creates from the definition in that README. */
function moduleOfPipelines(): string {
  const { text = '' } = programs.find(({ document }) => document === 'packages/pipeline/README.md') ?? {};
  return text.replace(/await using log[\s\S]*/, '').replace('const issues = definePipeline', 'export default definePipeline');
}

/** The arguments of `headgate` in a line, however the line starts it; undefined if it calls another command. */
function argumentsOf([tool, ...words]: readonly string[]): readonly string[] | undefined {
  if (tool === 'headgate') return words;
  const isOurs = tool === 'npm' && (words[0] === 'start' || words.slice(0, 3).join(' ') === 'run --silent headgate');
  if (!isOurs || !words.includes('--')) return undefined;
  const own = words.slice(words.indexOf('--') + 1);
  // Options without a command belong to the sandbox run that `npm start` starts.
  return own[0]?.startsWith('--') ? ['run', '--sandbox', ...own] : own;
}

/** The problem of a configuration as text; empty if it is valid. */
async function problemOf(folder: string, code: string): Promise<string> {
  // In the process of `headgate check`, a module finds the packages of the published command.
  if (code.includes('use:')) {
    const ended = await folders.sh(folder, 'headgate check');
    return ended.code === 0 ? '' : ended.stdout + ended.stderr;
  }
  return await loadConfig({ cwd: folder, file: 'headgate.yaml', env: ENV }).then(
    () => '',
    (error: unknown) => String(error),
  );
}

/** Errors in a call of the command, or of a script in package.json. */
async function faultsOf(words: readonly string[]): Promise<string[]> {
  const args = argumentsOf(words);
  if (args !== undefined) {
    const said = await usageError(args);
    return said === '' ? [] : [`${words.join(' ')}: ${said}`];
  }
  const [tool, verb, ...others] = words;
  const name = verb === 'run' ? others.find((word) => !word.startsWith('-')) : undefined;
  return tool !== 'npm' || name === undefined || name in SCRIPTS ? [] : [`npm run ${name}: there is no such script`];
}

/** The command line's message about invalid arguments; empty if they are valid. Doesn't run the command. */
async function usageError(args: readonly string[]): Promise<string> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const understood = new Error('understood');
  const clock = async () => await Promise.reject(understood);
  try {
    const code = await runCommandLine(args, { cwd: ROOT, env: {}, stdin, stdout, stderr, clock, signal: new AbortController().signal });
    return code === 2 ? String(stderr.read()) : '';
  } catch (error) {
    if (error !== understood) throw error;
    return '';
  }
}

async function runNode(args: readonly string[]) {
  return await run([process.execPath, ...args], { cwd: ROOT, env: { PATH: process.env['PATH'] ?? '', ...ENV } });
}
