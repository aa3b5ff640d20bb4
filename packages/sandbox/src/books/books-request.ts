/**
 * The operation of a request: `book`, `author` or `batch`. `malformed`: it is one of these, but invalid for the given reason. `other`: it
 * is none of these.
 */
export type BooksRequest =
  | { readonly kind: 'book'; readonly isbns: readonly [string] }
  | { readonly kind: 'author'; readonly author: string; readonly page: number; readonly pageSize: number }
  | { readonly kind: 'batch'; readonly isbns: readonly string[] }
  | { readonly kind: 'malformed'; readonly reason: string }
  | { readonly kind: 'other' };

export function parseBooksRequest(request: {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: string;
}): BooksRequest {
  const { method, path, query, body } = request;
  if (method === 'POST' && path === '/books') {
    const isbns = batchOf(body);
    return isbns === undefined ? { kind: 'malformed', reason: 'isbns is missing: send isbns=<ISBN>,<ISBN>' } : { kind: 'batch', isbns };
  }
  const [, resource, segment] = /^\/(book|author)\/([^/]+)$/u.exec(path) ?? [];
  if (method !== 'GET' || segment === undefined) return { kind: 'other' };
  let name: string;
  try {
    name = decodeURIComponent(segment);
  } catch {
    return { kind: 'malformed', reason: 'The path contains a malformed escape' };
  }
  if (resource === 'book') return { kind: 'book', isbns: [name] };
  const page = wholeNumber(query.get('page') ?? '1');
  const pageSize = wholeNumber(query.get('pageSize') ?? '20');
  if (page === undefined || pageSize === undefined) return { kind: 'malformed', reason: 'page and pageSize must be whole numbers from 1' };
  return { kind: 'author', author: name, page, pageSize: Math.min(pageSize, 1000) };
}

/**
 * Reads the ISBNs from `isbns=a,b`, raw or form-encoded, or from `{"isbns":["a","b"]}`, whatever the content type is. Undefined if there
 * are none.
 */
function batchOf(body: string): string[] | undefined {
  const text = body.trim();
  let isbns: readonly unknown[];
  try {
    if (text.startsWith('{')) {
      const parsed: unknown = JSON.parse(text);
      const field: unknown = typeof parsed === 'object' && parsed !== null && 'isbns' in parsed ? parsed.isbns : undefined;
      if (!Array.isArray(field)) return undefined;
      isbns = field;
    } else {
      const [, list] = /(?:^|&)isbns=([^&]*)/u.exec(text) ?? [];
      if (list === undefined) return undefined;
      isbns = decodeURIComponent(list).split(',');
    }
  } catch {
    return undefined;
  }
  const given = isbns.map((isbn) => String(isbn).trim()).filter((isbn) => isbn !== '');
  return given.length === 0 ? undefined : given;
}

function wholeNumber(text: string): number | undefined {
  return /^[1-9]\d{0,8}$/u.test(text) ? Number(text) : undefined;
}
