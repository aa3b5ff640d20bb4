import { writeFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule, Vitest } from 'vitest/node';

/** How the tests of a file have ended. */
export interface FileTotals {
  /** Path from the root of the repository. */
  readonly file: string;
  readonly project: string;
  readonly passed: number;
  readonly skipped: number;
  /** What has failed: tests, hooks, or the loading of the file. */
  readonly failures: readonly Failure[];
  /** Reasons for skipped tests. */
  readonly reasons: readonly string[];
}

export interface Failure {
  readonly name: string;
  readonly reason: string;
}

/** What a run of tests writes for `scripts/test.mjs`. */
export interface RunTotals {
  readonly files: readonly FileTotals[];
  /** Errors outside of any test. They fail the run, even if no test has failed. */
  readonly outside: readonly Failure[];
}

/**
 * Prints the reasons for skipped tests, and failures and totals at the very end. With `--outputFile=FILE`, an absolute
 * path, writes them to that file instead, as JSON.
 */
export default class TotalsReporter implements Reporter {
  #file: string | undefined;

  onInit({ config }: Vitest): void {
    if (typeof config.outputFile === 'string') this.#file = config.outputFile;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const files = modules.map(totalsOf);
    const outside = unhandledErrors.map((error) => ({ name: 'outside of any test', reason: reasonOf([error]) }));
    if (this.#file !== undefined) {
      writeFileSync(this.#file, JSON.stringify({ files, outside } satisfies RunTotals));
      return;
    }
    // The default reporter still writes its own summary after this hook.
    process.on('exit', () => process.stdout.write(summary(files, outside)));
  }
}

function totalsOf(module: TestModule): FileTotals {
  const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
  const reasons = new Set<string>();
  const failures: Failure[] = [];
  const file = module.relativeModuleId;
  for (const test of module.children.allTests()) {
    const result = test.result();
    count[result.state] += 1;
    if (result.state === 'failed') failures.push({ name: `${file} > ${test.fullName}`, reason: reasonOf(result.errors) });
    // Tests without a broker have the reason in their names.
    const why = result.state === 'skipped' ? (result.note ?? /\(skipped: (.*?)\)(?: >|$)/u.exec(test.fullName)?.[1]) : undefined;
    if (why !== undefined) reasons.add(why);
  }
  // A hook that fails fails its suite, and leaves out the tests.
  for (const suite of [module, ...module.children.allSuites()].filter((one) => one.errors().length > 0)) {
    failures.push({ name: suite.type === 'module' ? file : `${file} > ${suite.fullName}`, reason: reasonOf(suite.errors()) });
  }
  return { file, project: module.project.name, passed: count.passed, skipped: count.skipped, failures, reasons: [...reasons] };
}

/** The last lines of a run: reasons for skipped tests, failures, and totals. */
export function summary(files: readonly Omit<FileTotals, 'file' | 'project'>[], outside: readonly Failure[]): string {
  const sum = (count: 'passed' | 'skipped'): number => files.reduce((total, one) => total + one[count], 0);
  const failures = [...files.flatMap((one) => one.failures), ...outside];
  const skipped = sum('skipped');
  return [
    ...new Set(files.flatMap(({ reasons }) => reasons.map((reason) => `skipped: ${reason}\n`))),
    ...failures.map(({ name, reason }) => `failed: ${name}: ${reason}\n`),
    `${sum('passed')} passed, ${failures.length} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`,
  ].join('');
}

/** The messages of an error and its causes, at most 2,000 characters of each. That of a failed property shows how to repeat the run. */
function reasonOf(errors: readonly SerializedError[]): string {
  const said: string[] = [];
  for (let error: SerializedError | undefined = errors[0]; error !== undefined; error = error.cause) {
    said.push(error.message.replace(/\n\nHint: .*/su, '').slice(0, 2_000));
  }
  return said.join('\ncaused by: ') || 'no error';
}
