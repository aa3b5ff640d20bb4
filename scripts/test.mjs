// Runs everything that must pass, in three parts. Each call runs one of them.
//   node scripts/test.mjs                                  types, lint, format, dead code, API reports, then tests with at most one broker
//   node scripts/test.mjs --part faults                    tests that start, kill, freeze or configure brokers
//   node scripts/test.mjs --part packages                  packages, bundles and documents as users get them
//   node scripts/test.mjs [--part …] vitest arguments…     only the tests that the arguments name, without the checks
// A check, or the tests of a package, whose inputs in turbo.json haven't changed since it passed, doesn't run again. The last lines list
// failures and totals. A failed check counts as a failed test.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, globSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { startSharedBroker } from './kafka-broker-under-test.ts';

const PARTS = {
  tests: {
    checks: ['typecheck', 'lint', 'format:check', 'deadcode', 'api:check'],
    tests: ['test', 'test:docs', 'test:broker'],
    projects: [],
  },
  faults: { checks: ['build'], tests: [], projects: ['faults'] },
  packages: { checks: ['build', 'health', 'site'], tests: [], projects: ['package', 'pack'] },
};
/** The totals of each package's tests. Turbo restores those that it doesn't run again. */
const TOTALS = '{packages,apps,examples}/*/.turbo/totals/*.json';

const given = process.argv.slice(2);
const [part] = given[0] === '--part' ? given.splice(0, 2).slice(1) : ['tests'];
const { checks, tests, projects } = PARTS[part];
const chosen = projects.flatMap((name) => ['--project', name]);
const isAll = given.length === 0;
process.env.HEADGATE_MACHINE = machine();

/** Aborted when a signal tells this process to end. */
const ending = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => ending.abort());

try {
  await runPart();
} catch (error) {
  if (!ending.signal.aborted) throw error;
  process.exitCode = 130;
}

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
  try {
    const file = join(folder, 'totals.json');
    const { status } = await run('vitest', ['run', `--outputFile=${file}`, ...args], { stdio: 'inherit' });
    const totals = sum(globSync(file).map((one) => JSON.parse(readFileSync(one, 'utf8'))));
    return { ...totals, status, failed: status !== 0 && totals.failures.length === 0 ? ['vitest'] : [] };
  } finally {
    rmSync(folder, { recursive: true });
  }
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
  const { status, output } = await run('turbo', args, { stdio: ['ignore', 'pipe', 'inherit'] }, (text) => process.stdout.write(text));
  const names = output.match(/^ ?Failed: .*$/gmu)?.flatMap((line) => line.slice(line.indexOf(':') + 1).split(',')) ?? [];
  return { status, failed: status === 0 || names.length > 0 ? [...new Set(names.map((name) => name.trim()))] : ['turbo'] };
}

async function isCached(task) {
  const { output } = await run('turbo', ['run', task, '--dry=json'], { stdio: ['ignore', 'pipe', 'inherit'] });
  return JSON.parse(output).tasks.every((one) => one.task !== task || one.command === '<NONEXISTENT>' || one.cache.status === 'HIT');
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

/** Runs a command. If a signal ends this process, ends the command, waits until it has ended, and rejects. */
function run(command, args, options, onText = () => undefined) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { signal: ending.signal, ...options });
    let output = '';
    let failure;
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      output += text;
      onText(text);
    });
    child.on('error', (error) => (failure = error));
    child.on('close', (status) => (failure === undefined ? resolve({ status: status ?? 1, output }) : reject(failure)));
  });
}
