/**
 * True if the author name in a response, which may be percent-encoded, matches the requested one. Case, accents, punctuation and spaces
 * don't count.
 */
export function sameAuthor(requested: string, echoed: string): boolean {
  const wanted = lettersAndDigits(requested);
  return [echoed, decoded(echoed), decoded(decoded(echoed)), decoded(echoed.replaceAll('+', ' '))].some(
    (name) => lettersAndDigits(name) === wanted,
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A name that isn't encoded can contain a `%`.
    return text;
  }
}

function lettersAndDigits(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase();
}
