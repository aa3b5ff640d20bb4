import { foreignBody } from '../http/json-body.ts';
import { retryAfterMs } from '@headgate/throttle';
import type { HttpResponse } from '../http/response.ts';
import type { ClassifyContext } from '../source-definition.ts';
import type { Verdict } from '../verdict.ts';
import { ambiguous, type Answered, batchRefused, keyRefused, nothingButNotFound, unexpectedStatus } from './books-errors.ts';
import type { CheckedBooksOptions } from './options.ts';
import { type BooksQuery, subjectOf } from './query.ts';
import { readAnswer } from './read-answer.ts';
import { readLimit, readRefusal, type Refusal } from './refusal.ts';
import type { BooksValue } from './results.ts';

/** Returns the function that finds out what a response means. */
export function classifyBooks({
  plan,
  maxBatch,
  quotaReset,
}: Pick<CheckedBooksOptions, 'plan' | 'maxBatch' | 'quotaReset'>): (
  answer: HttpResponse,
  context: ClassifyContext<BooksQuery>,
) => Verdict<BooksValue> {
  return (answer, { query, credential, epochMs }) => {
    const { status, headers } = answer;
    const answered = { subject: subjectOf(query), credential, status };
    const refusal = { answer, epochMs, quotaReset };
    if (status === 200) return readAnswer(query, answered, refusal);
    if (status === 429) return readLimit(refusal);
    if (status === 404) return readRefusal(refusal) ?? readNotFound(query, answered, refusal, maxBatch);
    const foreign = status < 300 || status >= 500 ? undefined : foreignBody(answer);
    if (foreign !== undefined || status >= 500 || status === 408 || status === 425 || status < 300) {
      const reason = foreign === undefined ? `the service returned ${status}` : `${foreign} (${status})`;
      return { kind: 'transient', reason, retryInMs: retryAfterMs({ headers, epochMs }) };
    }
    if (status === 401 || status === 403) return { kind: 'unauthorized', error: keyRefused(answered, plan) };
    const isBatchRefused = query.kind === 'batch' && (status === 400 || status === 413 || status === 422);
    return { kind: 'fatal', error: isBatchRefused ? batchRefused(answered, maxBatch) : unexpectedStatus(answered) };
  };
}

/** Returns the verdict on a 404 whose text names no limit. Other text proves nothing. */
function readNotFound(query: BooksQuery, answered: Answered, refusal: Refusal, maxBatch: number): Verdict<BooksValue> {
  if (query.kind === 'batch' && query.control?.isKnown === true) return readLimit(refusal);
  if (query.kind !== 'batch' || query.isLast !== true) return { kind: 'ambiguous', error: ambiguous(answered), isAskedAgain: true };
  // A batch of one ISBN has no room for a control, so the service may have returned other books.
  return { kind: 'ambiguous', error: maxBatch === 1 ? ambiguous(answered) : nothingButNotFound(answered) };
}
