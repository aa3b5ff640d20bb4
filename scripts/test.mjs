// Runs everything that must pass, in three parts. Each call runs one of them.
//   node scripts/test.mjs                                  types, lint, format, dead code, API reports, then tests with at most one broker
//   node scripts/test.mjs --part faults                    tests that start, kill, freeze or configure brokers
//   node scripts/test.mjs --part packages                  packages, bundles and documents as users get them
//   node scripts/test.mjs [--part …] vitest arguments…     only the tests that the arguments name, without the checks
// A check, or the tests of a package, whose inputs in turbo.json haven't changed since it passed, doesn't run again. The last lines list
// failures and totals. A failed check counts as a failed test.
import { createHash } from 'node:crypto';
import { appendFileSync, globSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { startSharedBroker } from './kafka-broker-under-test.ts';
import { run } from './run.ts';

const PARTS = {
  tests: {
    checks: ['typecheck', 'lint', 'format:check', 'deadcode', 'api:check'],
    tests: ['test', 'test:docs', 'test:broker'],
    projects: [],
  },
  faults: { checks: ['build'], tests: [], projects: ['faults'] },
  packages: { checks: ['build', 'health'], tests: [], projects: ['package', 'pack'] },
};
/** The totals of each package's tests. Turbo restores those that it doesn't run again. */
const TOTALS = '{packages,apps,examples}/*/.turbo/totals/*.json';

const given = process.argv.slice(2);
const [part] = given[0] === '--part' ? given.splice(0, 2).slice(1) : ['tests'];
const { checks, tests, projects } = PARTS[part];
const chosen = projects.flatMap((name) => ['--project', name]);
const isAll = given.length === 0;
process.env.HEADGATE_MACHINE = machine();

// Killed test runs have left folders in memory.
const isOld = (folder) => statSync(folder, { throwIfNoEntry: false })?.mtimeMs < Date.now() - 24 * 3_600_000;
for (const folder of globSync('/dev/shm/headgate-*').filter(isOld)) rmSync(folder, { recursive: true, force: true });
await runPart();

async function runPart() {
  // Only these parts use the build output.
  const needed = isAll ? checks : checks.filter((name) => name === 'build');
  const checked = needed.length > 0 ? await turbo(needed) : { status: 0, failed: [] };
  for (const file of globSync(TOTALS)) rmSync(file);
  const tested = isAll && tests.length > 0 ? await testPackages() : await testOnce([...chosen, ...given]);
  const { passed, failures, skipped, reasons } = tested;
  // A task that has failed without a failed test says why in its output.
  const tasks = [...checked.failed, ...tested.failed];
  const lines = [
    ...reasons,
    ...failures.map(({ name, reason }) => `failed: ${name}: ${reason}\n`),
    ...tasks.map((name) => `failed: ${name}: its output is above\n`),
    `${passed} passed, ${failures.length + tasks.length} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`,
  ];
  const summary = lines.join('');
  process.stdout.write(summary);
  if (process.env.HEADGATE_SUMMARY_FILE) appendFileSync(process.env.HEADGATE_SUMMARY_FILE, `${part}: ${summary}`);
  process.exitCode = tested.status || checked.status;
}

async function testPackages() {
  const broker = (await isCached('test:broker')) ? undefined : await startSharedBroker();
  try {
    if (broker !== undefined) process.env.HEADGATE_SHARED_BROKER = JSON.stringify(broker.provided);
    const { status, failed } = await turbo([...tests, '--concurrency=3']);
    const all = globSync(TOTALS).map((file) => JSON.parse(readFileSync(file, 'utf8')));
    // A task that ends before its tests do writes no failure.
    const isTold = all.filter(({ failures }) => failures.length > 0).length >= failed.length;
    return { ...sum(all), status, failed: isTold ? [] : failed };
  } finally {
    await broker?.close();
  }
}

/** Runs vitest once for all that the arguments name. */
async function testOnce(args) {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-test-'));
  process.on('exit', () => rmSync(folder, { recursive: true }));
  const file = join(folder, 'totals.json');
  const { code } = await run(['vitest', 'run', `--outputFile=${file}`, ...args], { stdio: 'inherit' });
  const totals = sum(globSync(file).map((one) => JSON.parse(readFileSync(one, 'utf8'))));
  return { ...totals, status: code ?? 1, failed: code !== 0 && totals.failures.length === 0 ? ['vitest'] : [] };
}

function sum(all) {
  return {
    passed: all.reduce((total, { passed }) => total + passed, 0),
    skipped: all.reduce((total, { skipped }) => total + skipped, 0),
    failures: all.flatMap(({ failures }) => failures),
    reasons: [...new Set(all.flatMap(({ reasons }) => reasons))],
  };
}

/** Runs tasks with turbo, which prints the output of each task that isn't cached. */
async function turbo(tasks) {
  const args = ['run', ...tasks, '--continue', '--output-logs=new-only', '--log-order=grouped'];
  const { code, stdout } = await run(['turbo', ...args], { stdio: ['ignore', 'pipe', 'inherit'] }, (text) => process.stdout.write(text));
  const names = stdout.match(/^ ?Failed: .*$/gmu)?.flatMap((line) => line.slice(line.indexOf(':') + 1).split(',')) ?? [];
  return { status: code ?? 1, failed: code === 0 || names.length > 0 ? [...new Set(names.map((name) => name.trim()))] : ['turbo'] };
}

async function isCached(task) {
  const { stdout } = await run(['turbo', 'run', task, '--dry=json'], { stdio: ['ignore', 'pipe', 'inherit'] });
  return JSON.parse(stdout).tasks.every((one) => one.task !== task || one.command === '<NONEXISTENT>' || one.cache.status === 'HIT');
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
