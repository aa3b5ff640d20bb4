/**
 * Counts the ASCII digits from `from` up to the first other byte or the end. `expected`: likely length of the run in bytes. A correct guess
 * makes the check faster.
 */
export function digitRun(view: DataView, from: number, expected: number): number {
  const expectedEnd = from + expected;
  if (expected >= WORD_BYTES && expectedEnd < view.byteLength && !isDigit(view.getUint8(expectedEnd))) {
    // The last 32-bit word may overlap the one before it.
    let others = otherThanDigits(view.getInt32(expectedEnd - WORD_BYTES));
    for (let at = from; at < expectedEnd - WORD_BYTES; at += WORD_BYTES) others |= otherThanDigits(view.getInt32(at));
    if (others === 0) return expected;
  }
  let end = from;
  for (; end + WORD_BYTES <= view.byteLength; end += WORD_BYTES) {
    const others = otherThanDigits(view.getInt32(end));
    if (others !== 0) return end - from + (Math.clz32(others) >> 3);
  }
  while (end < view.byteLength && isDigit(view.getUint8(end))) end += 1;
  return end - from;
}

const WORD_BYTES = 4;

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/**
 * Returns a word in which the highest bit of each byte is set unless the byte is a digit. XOR turns a digit into 0 to 9. Adding 0x76 to the
 * lower seven bits of a larger value carries into the highest bit, but never into the next byte.
 */
function otherThanDigits(word: number): number {
  const values = word ^ 0x30303030;
  return (values | ((values & 0x7f7f7f7f) + 0x76767676)) & 0x80808080;
}
