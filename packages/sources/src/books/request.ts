import { percentEncoded } from '../http/wire-request.ts';
import type { PathRequest } from '../source-definition.ts';
import { type BooksQuery, isbnsToSend } from './query.ts';

/** The HTTP request of an ask (service document, Endpoints). */
export function toRequest(ask: BooksQuery): PathRequest {
  const headers = { accept: 'application/json', 'content-type': 'application/json' };
  if (ask.kind === 'book') return { method: 'GET', path: `/book/${ask.isbn.isbn}`, headers };
  if (ask.kind === 'author') {
    const query = {
      ...(ask.page !== undefined && { page: String(ask.page) }),
      ...(ask.pageSize !== undefined && { pageSize: String(ask.pageSize) }),
    };
    return { method: 'GET', path: `/author/${percentEncoded(ask.name)}`, query, headers };
  }
  // Form-style text under a JSON content type: that is how the document's examples send it.
  return { method: 'POST', path: '/books', headers, body: `isbns=${isbnsToSend(ask).join(',')}` };
}
