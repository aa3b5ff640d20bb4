import { writeFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

/**
 * Prints the reasons for skipped tests, and failures and totals at the very end. For `scripts/test.mjs`, writes failures and totals to a file
 * instead.
 */
export default class TotalsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    const reasons = new Set<string>();
    const failures: string[] = [];
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const result = test.result();
        count[result.state] += 1;
        if (result.state === 'failed')
          failures.push(`failed: ${module.relativeModuleId} > ${test.fullName}: ${firstLine(result.errors)}\n`);
        if (result.state === 'skipped' && result.note !== undefined) reasons.add(`skipped: ${result.note}\n`);
      }
      if (module.state() !== 'failed' || module.errors().length === 0) continue;
      count.failed += 1;
      failures.push(`failed: ${module.relativeModuleId}: ${firstLine(module.errors())}\n`);
    }
    // These errors fail the run, even if no test has failed.
    count.failed += unhandledErrors.length;
    for (const error of unhandledErrors) failures.push(`failed: outside of any test: ${firstLine([error])}\n`);
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : '';
    const file = process.env['HEADGATE_TOTALS_FILE'];
    if (file !== undefined) writeFileSync(file, JSON.stringify({ ...count, skipped, failures }));
    const totals = file === undefined ? `${failures.join('')}${count.passed} passed, ${count.failed} failed${skipped}\n` : '';
    // The default reporter still writes its own summary after this hook.
    process.on('exit', () => process.stdout.write(`${[...reasons].join('')}${totals}`));
  }
}

function firstLine(errors: readonly { readonly message: string }[]): string {
  return errors[0]?.message.split('\n', 1)[0] ?? 'no error';
}
