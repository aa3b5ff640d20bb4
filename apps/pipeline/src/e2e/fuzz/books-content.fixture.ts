import type { Content } from './hostile-service.fixture.ts';

const PAGE = 10;

/** A service of books. It knows every ISBN that ends in an even digit, and authors with this many books. */
export function booksContent(authors: Readonly<Record<string, number>>): Content {
  return {
    fields: ['data', 'data.0', 'books', 'books.0', 'author', 'message', 'errorMessage'],
    good(method, { pathname, searchParams }, body) {
      if (method === 'POST') {
        const isbns = body.replace(/^isbns=/, '').split(',');
        return { data: isbns.filter((isbn) => Number(isbn.at(-1)) % 2 === 0).map((isbn13) => ({ isbn13, title: `Of ${isbn13}` })) };
      }
      const author = decodeURIComponent(pathname.replace(/^\/author\//, ''));
      const count = authors[author];
      const page = Number(searchParams.get('page') ?? 1);
      if (count === undefined) return undefined;
      const left = Math.max(0, Math.min(PAGE, count - (page - 1) * PAGE));
      return { author, books: Array.from({ length: left }, (_, i) => ({ isbn13: `${page}-${i}` })) };
    },
    sent: () => undefined,
  };
}
