import { foreignBody } from '../http/json-body.ts';
import { retryAfterMs } from '@headgate/throttle';
import type { HttpResponse } from '../http/response.ts';
import type { ClassifyContext } from '../source-definition.ts';
import type { Verdict } from '../verdict.ts';
import { ambiguous, type AnsweredQuery, batchRefused, keyRefused, nothingButNotFound, unexpectedStatus } from './books-errors.ts';
import type { QuotaReset, BooksPlan } from './options.ts';
import type { BooksQuery } from './query.ts';
import { readAnswer } from './read-answer.ts';
import { readLimit, readRefusal, type RefusalOptions } from './refusal.ts';
import type { BooksValue } from './results.ts';

/** `maxBatch`: maximum ISBNs per batch, for the message when a batch is refused. */
export function classifyBooks(
  plan: BooksPlan,
  maxBatch: number,
  quotaReset: QuotaReset,
): (answer: HttpResponse, context: ClassifyContext<BooksQuery>) => Verdict<BooksValue> {
  return (answer, { query, credential, epochMs }) => {
    const { status } = answer;
    const answered = { query, credential, status };
    const refusal = { answer, epochMs, quotaReset };
    if (status === 200) return readAnswer(answered, refusal);
    if (status === 429) return { kind: 'rate-limited', ...readLimit(refusal) };
    if (status === 404) return readNotFound(answered, refusal);
    const foreign = status < 300 || status >= 500 ? undefined : foreignBody(answer);
    if (foreign !== undefined || status >= 500 || status === 408 || status === 425 || status < 300) {
      const retryInMs = retryAfterMs({ headers: answer.headers, epochMs });
      const reason = foreign === undefined ? `the service returned ${status}` : `${foreign} (${status})`;
      return { kind: 'transient', reason, retryInMs };
    }
    if (status === 401 || status === 403) return { kind: 'unauthorized', error: keyRefused({ ...answered, plan }) };
    if (query.kind === 'batch' && (status === 400 || status === 413 || status === 422)) {
      return { kind: 'fatal', error: batchRefused({ ...answered, maxBatch }) };
    }
    return { kind: 'fatal', error: unexpectedStatus(answered) };
  };
}

/** Returns the verdict on a 404. The text of the response proves nothing, unless it names a limit. */
function readNotFound(answered: AnsweredQuery, refusal: RefusalOptions): Verdict<BooksValue> {
  const { query } = answered;
  const limit = readRefusal(refusal);
  if (limit !== undefined) return { kind: 'rate-limited', ...limit };
  if (query.kind !== 'batch') return { kind: 'ambiguous', error: ambiguous(answered), isAskedAgain: true };
  if (query.control?.isKnown === true) return { kind: 'rate-limited', ...readLimit(refusal) };
  if (query.isLast === true) return { kind: 'ambiguous', error: nothingButNotFound(answered) };
  return { kind: 'ambiguous', error: ambiguous(answered), isAskedAgain: true };
}
