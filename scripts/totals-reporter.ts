import { writeFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

interface Failure {
  readonly name: string;
  readonly reason: string;
}

/**
 * Prints the reasons for skipped tests, and failures and totals at the very end. For `scripts/test.mjs`, writes failures and totals to a file
 * instead.
 */
export default class TotalsReporter implements Reporter {
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
        if (result.state === 'skipped' && result.note !== undefined) reasons.add(`skipped: ${result.note}\n`);
      }
      if (module.state() !== 'failed' || module.errors().length === 0) continue;
      count.failed += 1;
      failures.push({ name: module.relativeModuleId, reason: reasonOf(module.errors()) });
    }
    // These errors fail the run, even if no test has failed.
    count.failed += unhandledErrors.length;
    for (const error of unhandledErrors) failures.push({ name: 'outside of any test', reason: reasonOf([error]) });
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : '';
    const told = failures.map(({ name, reason }) => `failed: ${name}: ${reason}\n`).join('');
    const file = process.env['HEADGATE_TOTALS_FILE'];
    if (file !== undefined) writeFileSync(file, JSON.stringify({ ...count, skipped, failures, told }));
    const totals = file === undefined ? `${told}${count.passed} passed, ${count.failed} failed${skipped}\n` : '';
    // The default reporter still writes its own summary after this hook.
    process.on('exit', () => process.stdout.write(`${[...reasons].join('')}${totals}`));
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
