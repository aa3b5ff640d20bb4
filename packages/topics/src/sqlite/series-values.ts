/** Texts of consecutive records as stored in one row of the file, with their common beginning and end only once. */
export interface SeriesValues {
  /** At least 2. */
  readonly count: number;
  readonly prefix: string;
  /** A JSON array: the part of each text between prefix and suffix. */
  readonly middles: string;
  readonly suffix: string;
}

/**
 * Packs well-formed texts. Undefined for fewer than 2, and if there is a NUL between prefix and suffix, because the JSON functions of SQLite before
 * 3.45 end a text there, and other programs may use them to read the file.
 */
export function packed(texts: readonly string[]): SeriesValues | undefined {
  if (texts.length < 2) return undefined;
  const prefix = commonPrefix(texts);
  const suffix = commonSuffix(texts, prefix.length);
  const middles = JSON.stringify(texts.map((text) => text.slice(prefix.length, text.length - suffix.length)));
  return middles.includes(String.raw`\u0000`) ? undefined : { count: texts.length, prefix, middles, suffix };
}

export function isSeriesValues(value: string | Uint8Array | SeriesValues | null): value is SeriesValues {
  return value !== null && typeof value === 'object' && 'middles' in value;
}

export function recordCount(value: string | Uint8Array | SeriesValues | null): number {
  return isSeriesValues(value) ? value.count : 1;
}

export function unpacked({ prefix, middles, suffix }: SeriesValues): readonly string[] {
  const parts = JSON.parse(middles) as readonly string[];
  return parts.map((middle) => prefix + middle + suffix);
}

/** In sort order, all texts are between the smallest and the largest one, so the common beginning of these two is common to all. */
function commonPrefix(texts: readonly string[]): string {
  let [least = '', greatest = ''] = [texts[0], texts[0]];
  for (const text of texts) {
    if (text < least) least = text;
    else if (text > greatest) greatest = text;
  }
  let length = 0;
  while (length < least.length && least[length] === greatest[length]) length++;
  // The prefix must not end with the first half of a surrogate pair.
  return /[\ud800-\udbff]$/.test(least.slice(0, length)) ? least.slice(0, length - 1) : least.slice(0, length);
}

/** The common end of all texts after their first `from` characters. */
function commonSuffix(texts: readonly string[], from: number): string {
  const [first = ''] = texts;
  let length = first.length;
  for (const text of texts) {
    const most = Math.min(length, text.length - from);
    for (length = 0; length < most && text.at(-1 - length) === first.at(-1 - length);) length++;
  }
  const suffix = first.slice(first.length - length);
  return /^[\udc00-\udfff]/.test(suffix) ? suffix.slice(1) : suffix;
}
