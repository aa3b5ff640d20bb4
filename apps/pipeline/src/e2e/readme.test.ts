import { spawn } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startBooks, startFollowers } from '@headgate/sandbox';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const FREELY = { kind: 'rolling', limit: 1_000, windowMs: 1_000 } as const;

it('runs every example of every README', async () => {
  await using followers = await startFollowers({ window: FREELY, users: { alpha: { followers: 12_000 } } });
  await using books = await startBooks({ window: FREELY });
  const examples = await allExamples();
  expect(examples.length).toBeGreaterThan(8);
  for (const { readme, folder, code } of examples) {
    const pointed = code.replaceAll('https://api.example.com', followers.url).replaceAll('https://books.example.com', books.url);
    const { exitCode, output } = await runIn(folder, pointed);
    expect(exitCode, `${readme}\n${code}\n${output}`).toBe(0);
  }
});

it('compiles every example of every README, as strictly as this repository', async () => {
  const examples = await allExamples();
  const files = examples.map(({ folder }, i) => join(ROOT, folder, 'src', `.readme-types-${process.pid}-${i}.ts`));
  const config = join(ROOT, `.readme-types-${process.pid}.json`);
  const options = { noEmit: true, declaration: false, declarationMap: false, isolatedDeclarations: false, noUnusedLocals: false };
  try {
    await Promise.all(examples.map(({ code }, i) => writeFile(files[i] ?? '', code)));
    await writeFile(config, JSON.stringify({ extends: './tsconfig.base.json', compilerOptions: options, files }));
    const { exitCode, output } = await runNode([join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', config], ROOT);
    const told = files.reduce((text, file, i) => text.replaceAll(relative(ROOT, file), `an example of ${examples[i]?.readme}`), output);
    expect(exitCode, told).toBe(0);
  } finally {
    await Promise.all([config, ...files].map(async (file) => await rm(file, { force: true })));
  }
});

interface Example {
  readonly readme: string;
  /** Whose dependencies it may import. */
  readonly folder: string;
  readonly code: string;
}

/** Blocks that start with an import stand for themselves; others are fragments of the text around them. */
async function allExamples(): Promise<Example[]> {
  const packages = (await readdir(join(ROOT, 'packages'))).map((name) => join('packages', name));
  const folders = ['apps/pipeline', ...packages];
  const readmes = [
    { readme: 'README.md', folder: 'apps/pipeline' },
    ...folders.map((folder) => ({ readme: join(folder, 'README.md'), folder })),
  ];
  const all = await Promise.all(
    readmes.map(async ({ readme, folder }) => {
      const text = await readFile(join(ROOT, readme), 'utf8');
      return [...text.matchAll(/```ts\n(import [\s\S]*?)```/g)].map(([, code = '']) => ({ readme, folder, code }));
    }),
  );
  return all.flat();
}

async function runIn(folder: string, code: string): Promise<Ended> {
  // In the package, so that it resolves what the package's users would; its files go to a folder of its own.
  const file = join(ROOT, folder, 'src', `.readme-${process.pid}.ts`);
  const cwd = await mkdtemp(join(tmpdir(), 'headgate-readme-'));
  await writeFile(file, code);
  try {
    return await runNode(['--conditions=@headgate/source', '--disable-warning=ExperimentalWarning', file], cwd);
  } finally {
    await rm(file, { force: true });
    await rm(cwd, { recursive: true, force: true });
  }
}

interface Ended {
  readonly exitCode: number | null;
  readonly output: string;
}

async function runNode(args: readonly string[], cwd: string): Promise<Ended> {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', TOKEN: 'a-token', BOOKS_KEY: 'a-key' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 300_000,
  });
  let output = '';
  child.stdout.on('data', (text: Buffer) => (output += text.toString()));
  child.stderr.on('data', (text: Buffer) => (output += text.toString()));
  const exitCode = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { exitCode, output };
}
