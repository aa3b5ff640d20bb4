// A package's task of turbo: runs the tests of the package that belong to projects of vitest.
//   node ../../scripts/package-tests.ts PROJECT…
// `npm test` has already run them, together with those of other packages, and names the file with their totals in HEADGATE_TOTALS. The package's
// own totals are the output of the task, which turbo keeps if they passed.
import { mkdirSync, mkdtempDisposableSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './run.ts';
import type { RunTotals } from './totals-reporter.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const projects = process.argv.slice(2);
const folder = `${relative(root, process.cwd())}/`;

using temporary = mkdtempDisposableSync(join(tmpdir(), 'headgate-test-'));
const totals = process.env['HEADGATE_TOTALS'] ?? (await runTests(join(temporary.path, 'totals.json')));
const { files, outside } = JSON.parse(readFileSync(totals, 'utf8')) as RunTotals;
const own = files.filter(({ file, project }) => file.startsWith(folder) && projects.includes(project));
mkdirSync('.turbo/totals', { recursive: true });
writeFileSync(`.turbo/totals/${projects[0]}.json`, JSON.stringify(own));
if (own.length === 0) throw new Error(`No tests of ${folder} were run.`);
if (outside.length > 0 || own.some(({ failures }) => failures.length > 0)) process.exitCode = 1;

async function runTests(file: string): Promise<string> {
  const chosen = projects.map((name) => `--project=${name}`);
  await run(['vitest', 'run', ...chosen, `--outputFile=${file}`, folder], { cwd: root, stdio: 'inherit' });
  return file;
}
