import { writeFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

/** Prints why tests were skipped, and the totals as the very last line, where a person or a script looks for them; `scripts/test.mjs` names a file for them. */
export default class TotalsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    const reasons = new Set<string>();
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const result = test.result();
        count[result.state] += 1;
        if (result.state === 'skipped' && result.note !== undefined) reasons.add(`skipped: ${result.note}\n`);
      }
      if (module.state() === 'failed' && module.errors().length > 0) count.failed += 1;
    }
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : '';
    const file = process.env['HEADGATE_TOTALS_FILE'];
    if (file !== undefined) writeFileSync(file, JSON.stringify({ ...count, skipped }));
    const totals = file === undefined ? `${count.passed} passed, ${count.failed} failed${skipped}\n` : '';
    // The default reporter still writes its own summary after this hook.
    process.on('exit', () => process.stdout.write(`${[...reasons].join('')}${totals}`));
  }
}
