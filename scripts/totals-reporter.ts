import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Reporter, SerializedError, TestModule, Vitest } from 'vitest/node';

interface Failure {
  readonly name: string;
  readonly reason: string;
}

/**
 * Prints the reasons for skipped tests, and failures and totals at the very end. With `--outputFile=FILE`, writes them to that file instead, for
 * `scripts/test.mjs`.
 */
export default class TotalsReporter implements Reporter {
  #file: string | undefined;

  onInit({ config }: Vitest): void {
    if (typeof config.outputFile === 'string') this.#file = resolve(config.root, config.outputFile);
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    const reasons = new Set<string>();
    const failures: Failure[] = [];
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const result = test.result();
        count[result.state] += 1;
        if (result.state === 'failed')
          failures.push({ name: `${module.relativeModuleId} > ${test.fullName}`, reason: reasonOf(result.errors) });
        // Tests without a broker have the reason in their names.
        const why = result.state === 'skipped' ? (result.note ?? /\(skipped: (.*?)\)(?: >|$)/u.exec(test.fullName)?.[1]) : undefined;
        if (why !== undefined) reasons.add(`skipped: ${why}\n`);
      }
      // A hook that fails fails its suite, and leaves out the tests.
      for (const suite of [module, ...module.children.allSuites()].filter((one) => one.errors().length > 0)) {
        count.failed += 1;
        const name = suite.type === 'module' ? '' : ` > ${suite.fullName}`;
        failures.push({ name: `${module.relativeModuleId}${name}`, reason: reasonOf(suite.errors()) });
      }
    }
    // These errors fail the run, even if no test has failed.
    count.failed += unhandledErrors.length;
    for (const error of unhandledErrors) failures.push({ name: 'outside of any test', reason: reasonOf([error]) });
    if (this.#file !== undefined) {
      mkdirSync(dirname(this.#file), { recursive: true });
      writeFileSync(this.#file, JSON.stringify({ ...count, failures, reasons: [...reasons] }));
      return;
    }
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : '';
    const told = failures.map(({ name, reason }) => `failed: ${name}: ${reason}\n`).join('');
    // The default reporter still writes its own summary after this hook.
    process.on('exit', () =>
      process.stdout.write(`${[...reasons].join('')}${told}${count.passed} passed, ${count.failed} failed${skipped}\n`),
    );
  }
}

/** The messages of an error and its causes, at most 2,000 characters of each. That of a failed property shows how to repeat the run. */
function reasonOf(errors: readonly SerializedError[]): string {
  const said: string[] = [];
  for (let error: SerializedError | undefined = errors[0]; error !== undefined; error = error.cause) {
    said.push(error.message.replace(/\n\nHint: .*/su, '').slice(0, 2_000));
  }
  return said.join('\ncaused by: ') || 'no error';
}
