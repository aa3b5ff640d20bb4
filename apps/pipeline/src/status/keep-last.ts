/** Adds to a list that keeps its last `most` items only. */
export function keepLast<T>(list: T[], item: T, most: number): void {
  list.push(item);
  if (list.length > most) list.shift();
}
