// Runs everything that must pass, in three parts. Each call runs one of them.
//   node scripts/test.mjs [vitest arguments…]              types, lint, format, dead code, build, API reports, and tests with at most one broker
//   node scripts/test.mjs --part faults [arguments…]       tests that start, kill, freeze or configure brokers
//   node scripts/test.mjs --part packages [arguments…]     packages, bundles and documents as users get them
// With arguments, only the tests that they name run, without the checks. The last lines list failures and totals. A failed
// check counts as a failed test.
import { spawn } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PARTS = {
  tests: {
    checks: ['typecheck', 'lint', 'format:check', 'deadcode', 'api:check'],
    projects: ['unit', 'embedded', 'broker'],
  },
  faults: { checks: [], projects: ['faults'] },
  packages: { checks: ['health', 'site'], projects: ['package', 'pack'] },
};

const given = process.argv.slice(2);
const [part] = given[0] === '--part' ? given.splice(0, 2).slice(1) : ['tests'];
const { checks, projects } = PARTS[part];
const isAll = given.length === 0;
const folder = mkdtempSync(join(tmpdir(), 'headgate-test-'));
const totalsFile = join(folder, 'totals.json');
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

// Tests write users' modules, which import the build output.
const built = await turbo(['build']);
if (built.status !== 0) process.exit(built.status);
const chosen = part === 'tests' && !isAll ? [] : projects.flatMap((name) => ['--project', name]);
// One check at a time, so that the tests keep most of the CPU.
const checking =
  isAll && checks.length > 0 ? turbo([...checks, '--concurrency=1', '--continue']) : Promise.resolve({ status: 0, output: '' });
// The packing tests rebuild everything, so the checks must end first.
if (part === 'packages') await checking;
const tested = await run('vitest', ['run', ...chosen, ...given], {
  stdio: 'inherit',
  env: { ...process.env, HEADGATE_TOTALS_FILE: totalsFile },
});
const checked = await checking;
process.stdout.write(checked.output);
const { passed = 0, failed = 0, skipped = '', told = '' } = totals();
const failedChecks = checked.status === 0 ? [] : failedTasks(checked.output);
const checksTold = failedChecks.map((name) => `failed: ${name}, a check: its output is above\n`).join('');
const summary = `${told}${checksTold}${passed} passed, ${failed + failedChecks.length} failed${skipped}\n`;
process.stdout.write(summary);
if (process.env.HEADGATE_SUMMARY_FILE) {
  const evidence = failedChecks.length > 0 ? checked.output.slice(-4000) : '';
  appendFileSync(process.env.HEADGATE_SUMMARY_FILE, `${evidence}${part}: ${summary}`);
}
process.exitCode = tested.status || checked.status;

function totals() {
  try {
    return JSON.parse(readFileSync(totalsFile, 'utf8'));
  } catch {
    return { failed: 1 };
  }
}

/** The names of the failed tasks in turbo's summary. */
function failedTasks(output) {
  const names = output.match(/^ ?Failed: .*$/gmu)?.flatMap((line) => line.slice(line.indexOf(':') + 1).split(',')) ?? [];
  return names.length > 0 ? [...new Set(names.map((name) => name.trim()))] : ['turbo'];
}

/** Runs tasks with turbo. Returns the output for later, because the tests are printing meanwhile. */
async function turbo(tasks) {
  return await run('turbo', ['run', ...tasks, '--output-logs=errors-only', '--log-order=grouped'], { stdio: ['ignore', 'pipe', 'pipe'] });
}

function run(command, args, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { shell: process.platform === 'win32', ...options });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text) => (output += text));
    child.on('error', reject);
    child.on('close', (status, signal) => resolve({ status: signal ? 130 : (status ?? 1), output }));
  });
}
