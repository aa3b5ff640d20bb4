import { parseUntouched } from '../exact-json.ts';
import { jsonBody, jsonKind } from '../http/json-body.ts';
import type { Verdict } from '../verdict.ts';
import { type Answered, invalidRecord } from './books-errors.ts';
import { isbnsOf, matchRecords } from './match-records.ts';
import type { BooksQuery } from './query.ts';
import { readRefusal, type Refusal } from './refusal.ts';
import type { BooksValue } from './results.ts';
import { sameAuthor } from './same-author.ts';
import { isRecord, authorAnswer, batchAnswer, bookAnswer, bookRecord } from './schema.ts';

/** Returns the verdict on a response with status 200. `refusal`: for a response that turns out to be an error. */
export function readAnswer(query: BooksQuery, answered: Answered, refusal: Refusal): Verdict<BooksValue> {
  const { answer } = refusal;
  const body = jsonBody(answer, parseUntouched);
  if (body.kind === 'broken') return { kind: 'transient', reason: `${body.reason} (${answer.status})` };
  return readRecords(query, body.value, answered) ?? readRefusal(refusal) ?? mismatch(query, body.value);
}

function readRecords(query: BooksQuery, json: unknown, answered: Answered): Verdict<BooksValue> | undefined {
  if (query.kind === 'book') {
    const body = bookAnswer.safeParse(json);
    if (!body.success) return undefined;
    const record = bookRecord.safeParse(body.data.book);
    if (!record.success) return { kind: 'fatal', error: invalidRecord(answered, "isn't an object or names no ISBN") };
    if (!isbnsOf(record.data).includes(query.isbn.isbn)) {
      return { kind: 'fatal', error: invalidRecord(answered, 'has another ISBN, or an invalid one') };
    }
    return { kind: 'ok', value: { kind: 'book', answer: { kind: 'found', ...query.isbn, record: record.data } } };
  }
  if (query.kind === 'author') {
    const record = authorAnswer.safeParse(json);
    if (!record.success) return undefined;
    const echoed = record.data['author'];
    const namesAnother = typeof echoed === 'string' && !sameAuthor(query.name, echoed);
    return { kind: 'ok', value: { kind: 'author', answer: { author: query.name, namesAnother, record: record.data } } };
  }
  const body = batchAnswer.safeParse(json);
  return body.success ? { kind: 'ok', value: { kind: 'batch', ...matchRecords(query, body.data.data) } } : undefined;
}

function mismatch({ kind: asked }: BooksQuery, json: unknown): Verdict<never> {
  const [field, kind] = EXPECTED[asked];
  if (!isRecord(json)) return { kind: 'schema-mismatch', where: `expected an object with ${field}, got ${jsonKind(json)}` };
  return { kind: 'schema-mismatch', where: `${field}: expected ${kind}, got ${jsonKind(json[field])}` };
}

const EXPECTED = { book: ['book', 'an object'], author: ['books', 'a list'], batch: ['data', 'a list'] } as const;
