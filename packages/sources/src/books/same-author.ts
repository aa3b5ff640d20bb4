/**
 * True if the author name in a response, which may be percent-encoded, is a spelling of the requested one. Case, accents, punctuation, spaces
 * and the order of the words don't count, and Latin letters equal their ASCII equivalents: `Lem, Stanisław` is `Stanislaw Lem`.
 */
export function sameAuthor(requested: string, echoed: string): boolean {
  const wanted = wordsOf(requested);
  return [echoed, decoded(echoed), decoded(decoded(echoed)), decoded(echoed.replaceAll('+', ' '))].some((name) => {
    const words = wordsOf(name);
    return words.join('') === wanted.join('') || words.toSorted().join(' ') === wanted.toSorted().join(' ');
  });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A name that isn't encoded can contain a `%`.
    return text;
  }
}

/** The ASCII equivalents of letters that NFKD doesn't split, from the Latin-ASCII transform of Unicode CLDR: those of Europe's alphabets. */
const ASCII: Readonly<Record<string, string>> = {
  æ: 'ae',
  ð: 'd',
  đ: 'd',
  ħ: 'h',
  ı: 'i',
  ĸ: 'q',
  ł: 'l',
  ŋ: 'n',
  œ: 'oe',
  ø: 'o',
  ß: 'ss',
  þ: 'th',
  ŧ: 't',
};

function wordsOf(name: string): readonly string[] {
  const letters = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[\p{M}\p{Lm}]/gu, '')
    .replaceAll(/[æðđħıĸłŋœøßþŧ]/gu, (letter) => ASCII[letter] ?? letter);
  return letters.match(/[\p{L}\p{N}]+/gu) ?? [];
}
