import { isbnFromHash, toIsbn10 } from './isbn.ts';
import { hash32 } from '../seeded-random.ts';

/** A record as the catalog spells it. Fields and their types differ from record to record. */
export type CatalogueRecord = Readonly<Record<string, unknown>>;

/** Creates the record of an ISBN-13. The same options give the same record. Types vary as in the records of a real catalog. */
export function bookRecord(options: { readonly isbn13: string; readonly seed: number; readonly author?: string }): CatalogueRecord {
  const { isbn13, seed, author } = options;
  const pick = (field: string, count: number): number => hash32(seed, field, isbn13) % count;
  const oneOf = (field: string, words: readonly string[]): string => words[pick(field, words.length)] ?? '';
  const year = 1950 + pick('year', 75);
  const month = String(1 + pick('month', 12)).padStart(2, '0');
  const title = `${oneOf('first', firsts)} ${oneOf('second', seconds)}`;
  const writer = author ?? `${oneOf('given', givenNames)} ${oneOf('family', familyNames)}`;
  return {
    publisher: oneOf('publisher', publishers),
    language: oneOf('language', ['en', 'en_US', 'fr', 'de', '']),
    image: `https://example.com/covers/${isbn13}.jpg`,
    title_long: pick('long', 3) === 0 ? '' : `${title}: ${oneOf('third', seconds)}`,
    edition: oneOf('edition', ['', '', '1', 'Reprint', 'Large type / large print']),
    ...pickOne(pick('dimensions', 3), { dimensions: 'Height: 8.5 Inches, Length: 5.5 Inches, Width: 1 Inches' }, { dimensions: '' }, {}),
    pages: pick('pages', 4) === 0 ? [] : 60 + pick('count', 900),
    ...pickOne(
      pick('date', 5),
      { date_published: year },
      { date_published: String(year) },
      { date_published: `${year}-${month}` },
      { date_published: `${year}-${month}-01T00:00:01Z` },
      {},
    ),
    authors: [writer],
    ...pickOne(pick('subjects', 3), { subjects: ['Fiction', oneOf('subject', seconds)] }, { subjects: [] }, {}),
    title,
    isbn13,
    msrp: pick('msrp', 2) === 0 ? '0.00' : 5 + pick('price', 4000) / 100,
    binding: oneOf('binding', ['Paperback', 'Hardcover', 'Mass Market Paperback', '']),
    isbn: toIsbn10(isbn13) ?? isbn13,
  };
}

/** Creates the books of an author by name: 3 to 42 records. About a quarter of them have only an ISBN-10. */
export function authorBooks(options: { readonly name: string; readonly seed: number }): CatalogueRecord[] {
  const { name, seed } = options;
  const count = 3 + (hash32(seed, 'books', name) % 40);
  return Array.from({ length: count }, (_, index) => {
    const { isbn13, ...rest } = bookRecord({ isbn13: isbnFromHash(hash32(seed, name, index)), seed, author: name });
    return hash32(seed, 'short', name, index) % 4 === 0 ? rest : { ...rest, isbn13 };
  });
}

function pickOne(index: number, ...choices: readonly CatalogueRecord[]): CatalogueRecord {
  return choices[index] ?? {};
}

const firsts = ['The Gentle', 'A Distant', 'Winter', 'Seven', 'The Last', 'Old', 'An Unlikely', 'Été: la première'];
const seconds = ['Canal', 'Orchard', 'Measure of Water', 'Letters', 'Strangers', 'Garden', 'Sluice', 'Winters'];
const givenNames = ['Ada', 'Bruno', 'Chloé', 'Dmitri', 'Edith', 'Farid', 'Grace', 'Håkon'];
const familyNames = ['Almeida', 'Brook', "O'Connor", 'Duarte', 'Eriksen', 'Fontaine', 'Grey', 'Hollis'];
const publishers = ['Canal Press', 'Weir & Sons', 'Lock House', 'Editions de l’Écluse', 'Sluice Gate Books', ''];
