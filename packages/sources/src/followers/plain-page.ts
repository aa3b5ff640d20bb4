import { isAscii } from 'node:buffer';
import { type PageContent, fitsWide, MOST_DIGITS, readPage } from './schema.ts';

/**
 * Reads a page that is spelled as the service spells it, `{"ids":["1","2"],…}` without white space, straight from its bytes: parsing and
 * checking 5,000 ids takes longer than receiving them.
 *
 * Undefined for whatever isn't exactly of that form, good or bad: `jsonBody` and `readPage` read the same of every page, and judge the rest.
 */
export function plainPage(body: Buffer): PageContent | undefined {
  if (body.toString('latin1', 0, OPENING.length) !== OPENING) return undefined;
  const list = plainIds(body, OPENING.length);
  if (list === undefined || body[list.endsAt] !== COMMA) return undefined;
  const rest = body.subarray(list.endsAt);
  if (!isAscii(rest)) return undefined;
  const content = contentAfterIds(rest.toString('latin1'));
  return content && { ...content, ids: list.ids };
}

const OPENING = '{"ids":[';

/**
 * V8 keeps the whole text that a part was cut out of. Cut out of pieces as small as this, an id that somebody holds on to costs him no
 * more than its piece, not its page.
 */
const PIECE_BYTES = 1_024;

interface PlainIds {
  readonly ids: readonly string[];
  /** Behind the closing bracket. */
  readonly endsAt: number;
}

function plainIds(body: Buffer, startsAt: number): PlainIds | undefined {
  const ids: string[] = [];
  let piece = '';
  let pieceFrom = 0;
  let pieceUntil = 0;
  for (let at = startsAt; ; at += 1) {
    if (at >= pieceUntil) {
      pieceFrom = at;
      pieceUntil = at + PIECE_BYTES;
      // The id that begins with its last byte is in it whole.
      piece = body.toString('latin1', pieceFrom, pieceUntil + 1 + MOST_DIGITS);
    }
    const quoted = body[at] === QUOTE;
    if (quoted) at += 1;
    const from = at;
    while (isDigit(body[at])) at += 1;
    // JSON has no numbers with zeros in front.
    if (at - from > MOST_DIGITS || (!quoted && body[from] === ZERO && at - from > 1)) return undefined;
    const id = piece.slice(from - pieceFrom, at - pieceFrom);
    if (!fitsWide(id)) return undefined;
    ids.push(id);
    if (quoted) {
      if (body[at] !== QUOTE) return undefined;
      at += 1;
    }
    if (body[at] === CLOSE_BRACKET) return { ids, endsAt: at + 1 };
    if (body[at] !== COMMA) return undefined;
  }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

/** `rest`: from the comma behind the ids to the end. */
function contentAfterIds(rest: string): PageContent | undefined {
  const fields = parsed(`{"":0${rest}`);
  // Of a name that is there twice the last counts, however it is spelled: so these ids would not be the page's.
  if (typeof fields !== 'object' || fields === null || 'ids' in fields) return undefined;
  const page = readPage({ ...fields, ids: [] }, () => `{"ids":[]${rest}`);
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
const NINE = 0x39;
const CLOSE_BRACKET = 0x5d;
