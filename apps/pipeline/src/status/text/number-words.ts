/** A whole number with its thousands grouped: `20,000`. */
export function groupedNumber(value: number): string {
  return Number.isFinite(value) ? String(Math.trunc(value)).replace(/\B(?=(?:\d{3})+$)/g, ',') : '?';
}

/** A count as people say it: exact below a million (`35,000`), rounded above (`2.06 M`, `1.20 bn`). */
export function numberWords(value: number): string {
  if (Number.isFinite(value) && value >= 1_000_000_000 - 500_000) return `${threeDigits(value / 1_000_000_000)} bn`;
  if (Number.isFinite(value) && value >= 1_000_000) return `${threeDigits(value / 1_000_000)} M`;
  return groupedNumber(value);
}

/** A count with its noun: `1 page`, `1,204 pages`. */
export function countWords(count: number, singular: string, plural: string = `${singular}s`): string {
  return `${numberWords(count)} ${count === 1 ? singular : plural}`;
}

export function totalOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** The singular of a pipeline's word for its items or topics: `id`, `status`, `query`, `match`. */
export function singularOf(plural: string): string {
  if (plural === 'series') return plural;
  if (/(?:[^aeiou]|qu)ies$/.test(plural) && plural !== 'movies') return `${plural.slice(0, -3)}y`;
  if (/(?:ss|sh|ch|x|zz|[^aeou]us)es$/.test(plural)) return plural.slice(0, -2);
  return /(?:ss|us|is)$/.test(plural) ? plural : plural.replace(/s$/, '');
}

/** A share (0 to 1) as a percentage, rounded down to one decimal: `99.9 %`. Only a share of 1 becomes `100 %`. */
export function percentWords(share: number): string {
  const tenths = Math.floor(share * 1000 + 1e-9);
  return `${tenths % 10 === 0 ? tenths / 10 : (tenths / 10).toFixed(1)} %`;
}

function threeDigits(value: number): string {
  if (value >= 999.5) return groupedNumber(Math.round(value));
  // From 9.995 and 99.95 on, rounding adds a digit before the decimal point.
  const decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return value.toFixed(decimals);
}
