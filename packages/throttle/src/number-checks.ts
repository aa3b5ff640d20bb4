/** Checks numbers of a caller's options by their names, because plain JavaScript and JSON aren't type-checked: text can pass for a number. */
export interface NumberChecks {
  /** Throws unless each is a number from `least` to `most`. Default: any but `Infinity`. `ABOVE_0` as `least`: above 0. */
  number(given: Readonly<Record<string, unknown>>, least?: number, most?: number): void;
  /** The same for whole numbers. */
  whole(given: Readonly<Record<string, unknown>>, least?: number, most?: number): void;
}

/** As `least`: the number must be above 0. */
export const ABOVE_0: number = Number.MIN_VALUE;

/** Creates checks. `error` creates the error. `must`: what the option must be, and what it is. */
export function numberChecks(error: (option: string, must: string) => Error): NumberChecks {
  const check =
    (kind: string, isKind: (value: number) => boolean): NumberChecks['number'] =>
    (given, least = -Number.MAX_VALUE, most = Number.MAX_VALUE) => {
      for (const [option, value] of Object.entries(given)) {
        if (typeof value === 'number' && value >= least && value <= most && isKind(value)) continue;
        const from = least === ABOVE_0 ? ' above 0' : least > -Number.MAX_VALUE ? ` from ${least}` : '';
        const to = most < Number.MAX_VALUE ? ` to ${most}` : '';
        throw error(option, `a ${kind}${from}${to}, got ${typeof value === 'number' ? value : kindOf(value)}`);
      }
    };
  return {
    number: check('number', () => true),
    whole: check('whole number', (value) => Number.isSafeInteger(value) || value === Infinity),
  };
}

/** Checks that throw a `RangeError`. `name`: the function with these options. */
export function rangeChecks(name: string): NumberChecks {
  return numberChecks((option, must) => new RangeError(`${name}: ${option} must be ${must}`));
}

function kindOf(value: unknown): string {
  if (typeof value === 'string') return `the text ${JSON.stringify(value.slice(0, 40))}`;
  return value === null || value === undefined ? String(value) : `a value of type ${typeof value}`;
}
