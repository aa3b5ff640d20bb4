import { expect, test } from 'vitest';
import { books } from '../pipelines/books.ts';

const { requests } = books.definition;

const EITHER = 'it takes either {"isbn": "…"}, {"isbns": ["…"]} or {"author": "…"}';

test.each([
  ['{"isbn":"9780140449136","author":"Ada"}', EITHER],
  ['{"isbn":"9780140449136","isbns":["9780792712305"]}', EITHER],
  ['{"author":"Ada","isbns":["9780792712305"]}', EITHER],
  ['{"title":"Sense"}', EITHER],
  ['{"isbn":9780140449136}', 'isbn must be a string, in quotes'],
  ['{"isbns":[]}', 'isbns is empty'],
  ['{"author":" "}', 'author is empty'],
])('the books job %s is malformed', (job, reason) => {
  expect(() => requests.parseLine(job)).toThrow(`The job is malformed: ${reason}.`);
});

test.each([
  ['{"isbn":"0140449132"}', '9780140449136'],
  ['{"isbns":["9780792712305","9780140449136"]}', '9780792712305'],
  ['{"author":" Ada ","shelf":3}', 'Ada'],
])('the books job %s is taken', (job, key) => {
  expect(requests.parseLine(job)).toEqual({ key, value: job });
});
