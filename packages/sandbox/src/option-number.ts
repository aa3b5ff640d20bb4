import { SandboxOptionError } from './sandbox-option-error.ts';

/**
 * Throws `SandboxOptionError` unless each option is a number from `least` to `most`, because plain JavaScript isn't type-checked. Whole
 * unless `fractions` is true.
 */
export function checkNumbers(
  given: Readonly<Record<string, unknown>>,
  { least = -Number.MAX_VALUE, most = Number.MAX_VALUE, fractions = false }: { least?: number; most?: number; fractions?: boolean },
): void {
  for (const [option, value] of Object.entries(given)) {
    const isKind = fractions || Number.isSafeInteger(value) || value === Infinity;
    if (typeof value === 'number' && value >= least && value <= most && isKind) continue;
    const from = least > -Number.MAX_VALUE ? ` from ${least}` : '';
    const to = most < Number.MAX_VALUE ? ` to ${most}` : '';
    const shown = typeof value === 'number' || value === null || value === undefined ? String(value) : `of type ${typeof value}`;
    throw new SandboxOptionError(`${option} is ${shown}; give a ${fractions ? '' : 'whole '}number${from}${to}.`);
  }
}
