// Runs everything that must pass, in three parts. Each call runs one of them.
//   node scripts/test.mjs                                  types, lint, format, dead code, API reports, then tests with at most one broker
//   node scripts/test.mjs --part faults                    tests that start, kill, freeze or configure brokers
//   node scripts/test.mjs --part packages                  packages, bundles and documents as users get them
//   node scripts/test.mjs [--part …] vitest arguments…     only the tests that the arguments name, without the checks
// A check, or the tests of a package, whose inputs in turbo.json haven't changed since it passed, doesn't run again. The last lines list
// failures and totals. A failed check counts as a failed test.
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, globSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { run } from './run.ts';
import { summary } from './totals-reporter.ts';

const PARTS = {
  tests: { checks: ['typecheck', 'lint', 'format:check', 'deadcode', 'api:check'], projects: [] },
  faults: { checks: ['build'], projects: ['faults'] },
  packages: { checks: ['build', 'health'], projects: ['package', 'pack'] },
};
/** Tasks of packages that run tests, with at most one broker. */
const TASKS = ['test', 'test:docs', 'test:broker'];
/** The totals of each package's tests. Turbo restores those that it doesn't run again. */
const TOTALS = '{packages,apps,examples}/*/.turbo/totals/*.json';

const given = process.argv.slice(2);
const [part] = given[0] === '--part' ? given.splice(0, 2).slice(1) : ['tests'];
const { checks, projects } = PARTS[part];
const isAll = given.length === 0;
process.env.HEADGATE_MACHINE = machine();

// Killed test runs have left folders in memory.
const isOld = (folder) => statSync(folder, { throwIfNoEntry: false })?.mtimeMs < Date.now() - 24 * 3_600_000;
for (const folder of globSync('/dev/shm/headgate-*').filter(isOld)) rmSync(folder, { recursive: true, force: true });
const temporary = mkdtempSync(join(tmpdir(), 'headgate-test-'));
process.on('exit', () => rmSync(temporary, { recursive: true }));
const totals = join(temporary, 'totals.json');
await runPart();

async function runPart() {
  // Only these parts use the build output.
  const needed = isAll ? checks : checks.filter((name) => name === 'build');
  const checked = needed.length > 0 ? await turbo(needed) : { status: 0, failed: [] };
  const tested =
    isAll && projects.length === 0 ? await testPackages() : await testOnce([...projects.map((name) => `--project=${name}`), ...given]);
  // A check that has failed says why in its output.
  const tasks = [...checked.failed, ...tested.failed].map((name) => ({ name, reason: 'its output is above' }));
  const said = summary(tested.files, [...tested.outside, ...tasks]);
  process.stdout.write(said);
  if (process.env.HEADGATE_SUMMARY_FILE) appendFileSync(process.env.HEADGATE_SUMMARY_FILE, `${part}: ${said}`);
  process.exitCode = tested.status || checked.status;
}

/**
 * Runs the tests of all packages that have changed at once, because they share processes and the broker. Then turbo keeps how those of each package
 * have ended, and restores it for the others.
 */
async function testPackages() {
  const missed = await missedTasks();
  const ofProjects = new Set(missed.flatMap(({ command }) => command.split(' ').slice(2)));
  const args = [...Array.from(ofProjects, (name) => `--project=${name}`), ...new Set(missed.map(({ directory }) => `${directory}/`))];
  const tested = missed.length > 0 ? await testOnce(args) : { files: [], outside: [], status: 0, failed: [] };
  if (tested.failed.length > 0) return tested;
  for (const file of globSync(TOTALS)) rmSync(file);
  process.env.HEADGATE_TOTALS = totals;
  const { status, failed } = await turbo(TASKS, 'errors-only');
  const files = globSync(TOTALS).flatMap((file) => JSON.parse(readFileSync(file, 'utf8')));
  const isTold = tested.outside.length > 0 || files.some(({ failures }) => failures.length > 0);
  return { files, outside: tested.outside, status: tested.status || status, failed: isTold ? [] : failed };
}

/** Runs vitest once for all that the arguments name. */
async function testOnce(args) {
  const { code } = await run(['vitest', 'run', `--outputFile=${totals}`, ...args], { stdio: 'inherit' });
  const isWritten = existsSync(totals);
  const { files, outside } = isWritten ? JSON.parse(readFileSync(totals, 'utf8')) : { files: [], outside: [] };
  return { files, outside, status: code ?? 1, failed: isWritten ? [] : ['vitest'] };
}

/** Runs tasks with turbo, which prints the output of each task that isn't cached. */
async function turbo(tasks, logs = 'new-only') {
  const args = ['run', ...tasks, '--continue', `--output-logs=${logs}`, '--log-order=grouped'];
  const { code, stdout } = await run(['turbo', ...args], { stdio: ['ignore', 'pipe', 'inherit'] }, (text) => process.stdout.write(text));
  const names = stdout.match(/^ ?Failed: .*$/gmu)?.flatMap((line) => line.slice(line.indexOf(':') + 1).split(',')) ?? [];
  return { status: code ?? 1, failed: code === 0 || names.length > 0 ? [...new Set(names.map((name) => name.trim()))] : ['turbo'] };
}

/** The tasks of packages whose tests turbo hasn't seen pass with these inputs. */
async function missedTasks() {
  const { stdout } = await run(['turbo', 'run', ...TASKS, '--dry=json'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const { tasks } = JSON.parse(stdout);
  return tasks.filter((one) => TASKS.includes(one.task) && one.command !== '<NONEXISTENT>' && one.cache.status !== 'HIT');
}

/** A hash of what tests find on this machine: its platform, the programs on PATH, and whether they run as root. */
function machine() {
  const programs = (process.env.PATH ?? '').split(delimiter).flatMap((folder) => {
    try {
      return readdirSync(folder);
    } catch {
      return [];
    }
  });
  const found = [process.platform, process.arch, process.version, process.getuid?.() === 0, [...new Set(programs)].toSorted()];
  return createHash('sha256').update(JSON.stringify(found)).digest('hex');
}
