/**
 * True if an echoed author name matches the requested one. The service echoes it percent-encoded; case, the encoding of accents,
 * punctuation and spaces don't count.
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
    // A bare % in a name that wasn't encoded.
    return text;
  }
}

function lettersAndDigits(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase();
}
