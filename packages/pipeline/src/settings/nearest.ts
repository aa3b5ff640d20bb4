import { distance } from 'fastest-levenshtein';

/** Returns the known word that the user probably meant, or undefined if none is close. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const ranked = known
    .filter((candidate) => Math.abs(candidate.length - word.length) <= slips(candidate))
    .map((candidate) => ({ candidate, steps: steps(word.toLowerCase(), candidate.toLowerCase()) }))
    .toSorted((a, b) => a.steps - b.steps);
  const [best] = ranked;
  return best !== undefined && best.steps <= slips(best.candidate) ? best.candidate : undefined;
}

function slips({ length }: string): number {
  return Math.max(1, Math.floor(length / 3));
}

/**
 * Minimum number of inserted, deleted and changed letters. It is one lower if the words differ only in the order of their letters, so that
 * two swapped letters count as one.
 */
function steps(one: string, other: string): number {
  const letters = (word: string): string => word.split('').toSorted().join('');
  return distance(one, other) - (letters(one) === letters(other) && one !== other ? 1 : 0);
}
