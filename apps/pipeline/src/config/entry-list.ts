import { Complaint } from './complaint.ts';
import { fileText } from './file-text.ts';
import { Leaf, isMapping } from './leaf.ts';
import type { ReadContext } from './read-context.ts';
import { chosen, list, mapping, single } from './schema-parts.ts';
import type { Schema } from './schema-parts.ts';
import { shownPath } from './problem.ts';

const MOST_COMPLAINTS = 5;

export interface EntryListOptions<T> {
  readonly context: ReadContext;
  /** An entry of the list that is no `{ file: … }`. */
  readonly entry: Schema<T>;
  /** An entry of a file: its line, without comment and surrounding space. */
  readonly fromLine: (line: string) => T | Complaint;
  /** Two entries with the same identity are one: the first. */
  readonly identity: (entry: T) => string;
  /** The warning about an entry that is one with an earlier one and doesn't look it; it may show the later one. Default: none. */
  readonly unlike?: (earlier: T, later: T) => string | undefined;
  /** Completes `must be a list. Write …`. */
  readonly example: string;
}

/**
 * A list of entries and of files with entries, in its order, each entry once.
 * A file holds one entry a line; what follows a `#` at a line's start or after a space is a comment; blank lines are passed over.
 */
export function entryList<T>({ context, entry, fromLine, identity, unlike, example }: EntryListOptions<T>): Schema<readonly T[]> {
  const one: Schema<readonly T[]> = entry.transform((value) => [value]);
  const file = single({
    example: 'entries.txt',
    read: async (leaf) => {
      const text = await fileText({ context, path: leaf.text ?? '', written: leaf.written });
      return text instanceof Complaint ? text : readLines({ name: leaf.written, text, fromLine });
    },
  });
  const whole: Schema<readonly T[]> = mapping({ shape: { file }, example: '{ file: entries.txt }' }).transform((read) => read.file);
  const item = chosen((tree) => (isMapping(tree) && 'file' in tree ? whole : one));
  return chosen((tree) => {
    const items: readonly unknown[] = Array.isArray(tree) ? tree : [];
    return list({ item, example, empty: true }).transform((parts) => {
      const entries = new Map<string, T>();
      const warnings: { readonly leaf: Leaf; readonly message: string }[] = [];
      for (const [i, part] of parts.entries()) {
        for (const value of part) {
          const before = entries.get(identity(value));
          if (before === undefined) entries.set(identity(value), value);
          const message = before === undefined ? undefined : unlike?.(before, value);
          const leaf = leafOf(items[i]);
          // Values of variables are shown nowhere.
          if (message !== undefined && leaf?.variables.length === 0) warnings.push({ leaf, message });
        }
      }
      const [first] = warnings;
      const others = warnings.length > 1 ? ` So it is with ${warnings.length - 1} more.` : '';
      if (first !== undefined) context.warn(first.leaf, first.message + others);
      return [...entries.values()];
    });
  });
}

/** Where an entry stands in the file. */
function leafOf(item: unknown): Leaf | undefined {
  if (item instanceof Leaf) return item;
  return isMapping(item) ? Object.values(item).find((value) => value instanceof Leaf) : undefined;
}

interface ReadLinesOptions<T> {
  readonly name: string;
  readonly text: string;
  readonly fromLine: (line: string) => T | Complaint;
}

function readLines<T>({ name, text, fromLine }: ReadLinesOptions<T>): readonly T[] | Complaint {
  const entries: T[] = [];
  const complaints: string[] = [];
  for (const [index, line] of text.split(/\r\n|\r|\n/).entries()) {
    const written = line.replace(/(^|\s)#.*$/, '').trim();
    if (written === '') continue;
    const entry = fromLine(written);
    if (entry instanceof Complaint) complaints.push(`line ${index + 1}: ${entry.message}`);
    else entries.push(entry);
  }
  if (complaints.length === 0) return entries;
  const more = complaints.length - MOST_COMPLAINTS;
  return new Complaint(
    `${shownPath(name)}, ${complaints.slice(0, MOST_COMPLAINTS).join(' ')}${more > 0 ? ` And ${more} more lines.` : ''}`,
  );
}

/** An entry that is any text, taken as it is written: `0123456789` keeps its zero without quotes. */
export function textEntry({ example }: { readonly example: string }): Schema<string> {
  return single({
    example,
    read: (leaf) => (leaf.text?.trim() ? leaf.text.trim() : new Complaint(`is empty. Write ${example}, or remove it.`)),
  });
}
