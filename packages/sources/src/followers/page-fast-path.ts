import { isAscii } from 'node:buffer';
import { parseSpelled } from '../exact-json.ts';
import { digitRun } from './digit-run.ts';
import { fitsUint64, MOST_DIGITS, mostIds, type PageContent, readPage } from './page.ts';

/**
 * Reads a page directly from its bytes if its IDs are spelled as the service spells them: `{"ids":["1","2"],…}` without white space.
 * Parsing JSON and checking 5,000 IDs would be slower.
 *
 * Returns undefined for any other spelling, valid or not. `jsonBody` and `readPage` read those pages, and would return the same for a page
 * that is read here. `needed`: the cursor that the walk needs. `count`: requested number of IDs.
 */
export function pageFastPath(body: Buffer, needed: 'next' | 'previous', count: number): PageContent | undefined {
  if (body.toString('latin1', 0, OPENING.length) !== OPENING) return undefined;
  const list = plainIds(body, OPENING.length, mostIds(count));
  if (list === undefined || body[list.endsAt] !== COMMA) return undefined;
  const rest = body.subarray(list.endsAt + 1);
  if (!isAscii(rest)) return undefined;
  const content = contentAfterIds(rest.toString('latin1'), needed);
  return content && { ...content, ids: list.ids };
}

const OPENING = '{"ids":[';

/**
 * V8 keeps a text in memory while a substring of it is in use. IDs are cut from pieces of this size, so an ID keeps only its piece, not the
 * page.
 */
const PIECE_BYTES = 2_048;

interface PlainIds {
  readonly ids: readonly string[];
  readonly endsAt: number;
}

/** Reads the IDs one by one, as digits with or without quotes. Undefined for anything else, and for more than `most` IDs. */
function plainIds(body: Buffer, startsAt: number, most: number): PlainIds | undefined {
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
      // The piece is longer than PIECE_BYTES by one ID, because an ID can begin at the last of these bytes.
      piece = body.toString('latin1', pieceAt, pieceEnd + 1 + MOST_DIGITS);
    }
    const quoted = body[at] === QUOTE;
    const from = quoted ? at + 1 : at;
    length = digitRun(view, from, length);
    at = from + length;
    // JSON numbers have no leading zeros.
    if (length > MOST_DIGITS || (!quoted && length > 1 && body[from] === ZERO)) return undefined;
    const id = piece.slice(from - pieceAt, at - pieceAt);
    if (!fitsUint64(id) || ids.length === most) return undefined;
    ids.push(id);
    if (quoted) {
      if (body[at] !== QUOTE) return undefined;
      at += 1;
    }
    if (body[at] === CLOSE_BRACKET) return { ids, endsAt: at + 1 };
    if (body[at] !== COMMA) return undefined;
  }
}

/** Reads the fields after the IDs. `rest`: the text after the comma that follows the IDs. */
function contentAfterIds(rest: string, needed: 'next' | 'previous'): PageContent | undefined {
  const fields = parsed(`{${rest}`);
  // If a page has two fields `ids`, even in different spellings, the last one counts. Then the IDs read before it aren't the page's.
  if (typeof fields !== 'object' || fields === null || 'ids' in fields) return undefined;
  const page = readPage({ ...fields, ids: [] }, needed, 0);
  return page.kind === 'page' ? page.content : undefined;
}

function parsed(text: string): unknown {
  try {
    return parseSpelled(text);
  } catch {
    return undefined;
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const ZERO = 0x30;
const CLOSE_BRACKET = 0x5d;
