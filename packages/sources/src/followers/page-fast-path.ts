import { isAscii } from 'node:buffer';
import { digitRun } from './digit-run.ts';
import { fitsUint64, MOST_DIGITS, type PageContent, readPage, type ReadPageOptions } from './page.ts';

export interface PageFastPathOptions {
  /** The cursor with which the walk continues. */
  readonly needed: ReadPageOptions['needed'];
  /** Stops at a page with more IDs, after creating only these. */
  readonly mostIds: number;
}

/**
 * Reads a page in the service's own spelling, `{"ids":["1","2"],…}` without white space, straight from its bytes: parsing and checking
 * 5,000 IDs would take as long as receiving them.
 *
 * Undefined for any other form, good or bad: `jsonBody` and `readPage` return the same for every page, and judge the rest.
 */
export function pageFastPath(body: Buffer, { needed, mostIds }: PageFastPathOptions): PageContent | undefined {
  if (body.toString('latin1', 0, OPENING.length) !== OPENING) return undefined;
  const list = plainIds(body, { startsAt: OPENING.length, mostIds });
  if (list === undefined || body[list.endsAt] !== COMMA) return undefined;
  const rest = body.subarray(list.endsAt + 1);
  if (!isAscii(rest)) return undefined;
  const content = contentAfterIds(rest.toString('latin1'), needed);
  return content && { ...content, ids: list.ids };
}

const OPENING = '{"ids":[';

/**
 * V8 keeps the whole text from which a part was cut. An ID cut out of a piece of this size keeps only the piece in memory, not the page.
 */
const PIECE_BYTES = 2_048;

interface PlainIds {
  readonly ids: readonly string[];
  /** Index after the closing bracket. */
  readonly endsAt: number;
}

/** Digits as strings or as bare numbers, one by one; their text is the same as JSON's. */
function plainIds(body: Buffer, { startsAt, mostIds }: { readonly startsAt: number; readonly mostIds: number }): PlainIds | undefined {
  const view = new DataView(body.buffer, body.byteOffset, body.length);
  const ids: string[] = [];
  let piece = '';
  let pieceAt = 0;
  let pieceEnd = 0;
  let length = 0;
  for (let at = startsAt; ; at += 1) {
    if (at >= pieceEnd) {
      pieceAt = at;
      pieceEnd = at + PIECE_BYTES;
      // Contains the whole ID that begins with its last byte.
      piece = body.toString('latin1', pieceAt, pieceEnd + 1 + MOST_DIGITS);
    }
    const quoted = body[at] === QUOTE;
    const from = quoted ? at + 1 : at;
    length = digitRun({ view, from, expected: length });
    at = from + length;
    // JSON numbers have no leading zeros.
    if (length > MOST_DIGITS || (!quoted && length > 1 && body[from] === ZERO)) return undefined;
    const id = piece.slice(from - pieceAt, at - pieceAt);
    if (!fitsUint64(id) || ids.length === mostIds) return undefined;
    ids.push(id);
    if (quoted) {
      if (body[at] !== QUOTE) return undefined;
      at += 1;
    }
    if (body[at] === CLOSE_BRACKET) return { ids, endsAt: at + 1 };
    if (body[at] !== COMMA) return undefined;
  }
}

/** `rest`: the text after the IDs and their comma. */
function contentAfterIds(rest: string, needed: ReadPageOptions['needed']): PageContent | undefined {
  const fields = parsed(`{${rest}`);
  // If two fields have one name, in any spelling, the last one counts, so these IDs would not be the page's.
  if (typeof fields !== 'object' || fields === null || 'ids' in fields) return undefined;
  const page = readPage({ ...fields, ids: [] }, { text: () => `{"ids":[],${rest}`, needed });
  return page.kind === 'page' ? page.content : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const ZERO = 0x30;
const CLOSE_BRACKET = 0x5d;
