import { isScreenName, isUserId, userLabel } from '@headgate/sources/followers/user';
import { Complaint } from './complaint.ts';
import type { UserReference } from './config.ts';
import { entryList } from './entry-list.ts';
import { isMapping } from './leaf.ts';
import type { Leaf } from './leaf.ts';
import { shown } from './problem.ts';
import type { ReadContext } from './read-context.ts';
import { chosen, mapping, single } from './schema-parts.ts';
import type { Schema } from './schema-parts.ts';

const ENTRY_EXAMPLE = 'alpha, { userId: "12" } or { file: users.txt }';

/** Users to crawl: `alpha`, `"@alpha"`, `{ screenName: alpha }`, `{ userId: "12" }`, `{ file: users.txt }`; in a file `alpha`, `@alpha` or `id:12`. */
export function usersList({ context }: { readonly context: ReadContext }): Schema<readonly UserReference[]> {
  const byName = single({ example: ENTRY_EXAMPLE, read: readEntry });
  const screenName = single({ example: 'alpha', read: (leaf) => readScreenName(leaf.text ?? '', leaf.written) });
  // The leaf's text is the file's own characters: an id without quotes loses no digits.
  const userId = single({ example: '"12"', read: (leaf) => readUserId(leaf.text ?? '', leaf.written) });
  const byScreenName: Schema<UserReference> = mapping({ shape: { screenName }, example: '{ screenName: alpha }' });
  const byUserId: Schema<UserReference> = mapping({ shape: { userId }, example: '{ userId: "12" }' });
  return entryList<UserReference>({
    context,
    entry: chosen<UserReference>((tree) => {
      if (!isMapping(tree)) return byName;
      return looksLikeId(tree) ? byUserId : byScreenName;
    }),
    fromLine: readLine,
    identity: userLabel,
    unlike: otherCase,
    example: '[alpha, { userId: "12" }, { file: users.txt }]',
  });
}

function otherCase(earlier: UserReference, later: UserReference): string | undefined {
  if ('userId' in earlier || 'userId' in later || earlier.screenName === later.screenName) return undefined;
  return `"${later.screenName}" stands here before, in another case. Screen names don't differ by it: this is one user, crawled once.`;
}

function looksLikeId(tree: object): boolean {
  return !('screenName' in tree) && Object.keys(tree).some((key) => /id$/i.test(key));
}

function readEntry(leaf: Leaf): UserReference | Complaint {
  const text = leaf.text ?? '';
  if (!/^\d+$/.test(text)) return readName(text, leaf.written);
  const digits = JSON.stringify(leaf.variables.length === 0 ? text : leaf.written);
  return bareDigits({ text, written: leaf.written, asId: `{ userId: ${digits} }`, asName: `{ screenName: ${digits} }` });
}

function readLine(line: string): UserReference | Complaint {
  if (/^\d+$/.test(line)) return bareDigits({ text: line, written: line, asId: `id:${line}`, asName: `@${line}` });
  if (!line.startsWith('id:')) return readName(line, line);
  const userId = readUserId(line.slice('id:'.length).trim(), line);
  return userId instanceof Complaint ? userId : { userId };
}

interface BareDigits {
  readonly text: string;
  readonly written: string;
  /** How it is written where an id is meant, and where a name is. */
  readonly asId: string;
  readonly asName: string;
}

function bareDigits({ text, written, asId, asName }: BareDigits): Complaint {
  if (isUserId(text)) return new Complaint(`${written} may be an id or a screen name. Write ${asId} or ${asName}.`);
  const noId = `${isScreenName(text) ? written : shown(written)} is no user id: an id is 18446744073709551615 at most, and has no zero in front.`;
  return new Complaint(isScreenName(text) ? `${noId} If it is a screen name, write ${asName}.` : noId);
}

function readName(text: string, written: string): UserReference | Complaint {
  const screenName = readScreenName(text, written);
  return screenName instanceof Complaint ? screenName : { screenName };
}

function readScreenName(text: string, written: string): string | Complaint {
  const name = text.trim().replace(/^@/, '');
  return isScreenName(name)
    ? name
    : new Complaint(`${shown(written)} is no screen name. Write 1 to 50 letters, digits and "_", as in alpha.`);
}

function readUserId(text: string, written: string): string | Complaint {
  return isUserId(text)
    ? text
    : new Complaint(`${shown(written)} is no user id. Write digits, 18446744073709551615 at most and without a zero in front, as in "12".`);
}
