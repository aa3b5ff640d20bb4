import { z } from 'zod';
import { parseExact } from '../exact-json.ts';

/** Whatever may hold 64 bits: a number, or its digits. */
const wide = z.union([z.string(), z.number()]);

/** A page as it comes; fields that aren't named here pass. Ids are looked at one by one elsewhere: a schema takes too long over 5,000. */
const wirePage = z.looseObject({
  ids: z.custom<readonly unknown[]>(Array.isArray, 'expected an array'),
  next_cursor: wide.optional(),
  next_cursor_str: z.string().optional(),
  previous_cursor: wide.optional(),
  previous_cursor_str: z.string().optional(),
});

/** The errors' envelope, and the other one that protected accounts get. */
const wireErrors = z.looseObject({
  errors: z
    .array(z.looseObject({ code: z.coerce.number().optional(), message: z.string().optional() }))
    .optional()
    .catch(undefined),
  error: z.string().optional().catch(undefined),
});

export interface SpokenErrors {
  readonly errors: readonly { readonly code?: number | undefined; readonly message?: string | undefined }[];
  /** Of the other envelope. */
  readonly error: string | undefined;
}

/** What an answer says that is no page; of anything unexpected, nothing. */
export function spokenErrors(value: unknown): SpokenErrors {
  const { data } = wireErrors.safeParse(value);
  return { errors: data?.errors ?? [], error: data?.error };
}

export interface PageContent {
  readonly ids: readonly string[];
  readonly nextCursor: string;
  readonly previousCursor: string;
}

export type ReadPage =
  | { readonly kind: 'page'; readonly content: PageContent }
  /** It has no `ids`: something else. */
  | { readonly kind: 'other' }
  | { readonly kind: 'unfit'; readonly reason: string };

/** Reads a page out of parsed JSON; `text` gives what it was parsed from, for where a number has lost digits. */
export function readPage(value: unknown, text: () => string, isExact = false): ReadPage {
  const parsed = wirePage.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const other = typeof value !== 'object' || value === null || !('ids' in value);
    return other
      ? { kind: 'other' }
      : { kind: 'unfit', reason: `${issue?.path.join('.') ?? 'the page'}: ${issue?.message ?? 'unexpected'}` };
  }
  const page = parsed.data;
  const [next, previous] = cursorsOf(page);
  if (hasLostDigits(next) || hasLostDigits(previous)) return readExactPage(text);
  const ids: string[] = [];
  let hasNumbers = typeof next === 'number' || typeof previous === 'number';
  for (let i = 0; i < page.ids.length; i += 1) {
    const given = page.ids[i];
    if (hasLostDigits(given)) return readExactPage(text);
    hasNumbers ||= typeof given === 'number';
    const id = typeof given === 'number' ? String(given) : given;
    if (typeof id !== 'string' || !fitsWide(id)) return { kind: 'unfit', reason: `ids.${i}: expected digits of at most 64 bits` };
    ids.push(id);
  }
  // `1e3` and `1.0` are whole when they are parsed, and not what the service may send.
  if (hasNumbers && !isExact && /\d[.eE]/.test(text())) return readExactPage(text);
  // All at once: thousands of small tests would take longer than the parsing did.
  if (/[^0-9]/.test(ids.join(''))) return { kind: 'unfit', reason: 'ids: expected digits' };
  if (next === undefined) return { kind: 'unfit', reason: 'next_cursor: missing' };
  const nextCursor = String(next);
  // A walk onward can do without the way back.
  const previousCursor = String(previous ?? 0);
  if (!CURSOR.test(nextCursor) || !CURSOR.test(previousCursor))
    return { kind: 'unfit', reason: 'next_cursor, previous_cursor: expected digits' };
  return { kind: 'page', content: { ids, nextCursor, previousCursor } };
}

/** The next and the previous one. A cursor that is there as text, too, is not read as a number. */
function cursorsOf(page: z.infer<typeof wirePage>) {
  return [page.next_cursor_str ?? page.next_cursor, page.previous_cursor_str ?? page.previous_cursor] as const;
}

const CURSOR = /^-?\d{1,20}$/;

function hasLostDigits(value: unknown): boolean {
  return typeof value === 'number' && !Number.isSafeInteger(value);
}

/** The slow way, taken only where `stringify_ids` is ignored: numbers that need it are read as their own text. */
function readExactPage(text: () => string): ReadPage {
  const unfit: ReadPage = { kind: 'unfit', reason: 'ids, cursors: expected whole numbers' };
  try {
    const exact = parseExact(text());
    const { success, data } = wirePage.safeParse(exact);
    // A number that is spelled as JavaScript spells it, yet not whole, would come back here for ever.
    const readable = success && ![...cursorsOf(data), ...data.ids].some(hasLostDigits);
    return readable ? readPage(exact, text, true) : unfit;
  } catch {
    return unfit;
  }
}

/** Of 64 bits. */
export const MOST_DIGITS = 20;
const LARGEST = '18446744073709551615';

/** Whether it fits 64 bits, if it is digits. */
export function fitsWide(id: string): boolean {
  return id.length > 0 && (id.length < MOST_DIGITS || (id.length === MOST_DIGITS && id <= LARGEST));
}
