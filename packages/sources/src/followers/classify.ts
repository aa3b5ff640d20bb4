import { httpDate, retryAfterMs } from '@headgate/throttle';
import { foreignBody, jsonBody } from '../http/json-body.ts';
import { refusalWaitMs } from '../http/rate-headers.ts';
import type { HttpResponse } from '../http/response.ts';
import type { ClassifyContext } from '../source-definition.ts';
import type { Verdict } from '../verdict.ts';
import { followerError, type FollowerErrorCode } from './follower-error.ts';
import { idCount } from './id-count.ts';
import { pageFastPath } from './page-fast-path.ts';
import { type FollowersAnswer, type PageContent, readPage, isSpokenError, spokenErrors } from './page.ts';
import type { FollowersQuery } from './query.ts';

export function classify(answer: HttpResponse, context: ClassifyContext<FollowersQuery>): Verdict<FollowersAnswer> {
  const { status } = answer;
  const { count, direction: needed } = context.query;
  const mostIds = MOST_TIMES * count;
  if (status === 200) {
    const plain = pageFastPath(answer.body, { needed, mostIds });
    if (plain !== undefined) return okay(plain, context);
    const ids = answer.body.length > LEAST_ID_BYTES * mostIds ? idCount(answer.body) : 0;
    if (ids > mostIds) return { kind: 'schema-mismatch', where: `ids: expected at most ${inWords(count)} (count), got ${inWords(ids)}` };
  }
  const body = jsonBody(answer, JSON.parse);
  if (status !== 200) {
    const reason = foreignBody(answer) ?? (body.kind === 'json' && !isSpokenError(body.value) ? 'got JSON of another form' : undefined);
    if (reason !== undefined && !isPassing(status)) {
      const retryInMs = retryAfterMs({ headers: answer.headers, epochMs: context.epochMs });
      return { kind: 'transient', reason: `${reason} with status ${status}`, retryInMs };
    }
    return judged(answer, context, body.kind === 'json' ? body.value : undefined);
  }
  if (body.kind === 'broken') return { kind: 'transient', reason: `${body.reason} with status 200` };
  const page = readPage(body.value, { text: () => answer.body.toString('utf8'), needed });
  if (page.kind === 'page') return okay(page.content, context);
  const { errors, error } = spokenErrors(body.value);
  if (errors.length > 0 || error !== undefined) return judged(answer, context, body.value);
  return page;
}

/**
 * A page with more than this many times the requested IDs is refused, because downstream has reserved capacity only for the requested
 * number.
 */
const MOST_TIMES = 2;
/** Minimum bytes of an ID in a list: a digit and a comma. */
const LEAST_ID_BYTES = 2;

function inWords(count: number): string {
  return count.toLocaleString('en-US');
}

function okay(content: PageContent, { query, credential }: ClassifyContext<FollowersQuery>): Verdict<FollowersAnswer> {
  return { kind: 'ok', value: { user: query.label, cursor: query.cursor, ...content, credential } };
}

/** Meanings of the service's error codes, from the tables of published clients. */
const CODES: ReadonlyMap<number, FollowerErrorCode | 'rate-limited' | 'transient'> = new Map([
  [17, 'HEADGATE_USER_NOT_FOUND'],
  [32, 'HEADGATE_AUTHENTICATION_FAILED'],
  [34, 'HEADGATE_USER_NOT_FOUND'],
  [50, 'HEADGATE_USER_NOT_FOUND'],
  [63, 'HEADGATE_USER_SUSPENDED'],
  [64, 'HEADGATE_CREDENTIAL_SUSPENDED'],
  [88, 'rate-limited'],
  [89, 'HEADGATE_TOKEN_INVALID'],
  [130, 'transient'],
  [131, 'transient'],
  [135, 'HEADGATE_CLOCK_WRONG'],
  [179, 'HEADGATE_USER_PROTECTED'],
  [215, 'HEADGATE_AUTHENTICATION_BAD'],
  [326, 'HEADGATE_CREDENTIAL_LOCKED'],
]);

function judged(answer: HttpResponse, context: ClassifyContext<FollowersQuery>, value: unknown): Verdict<FollowersAnswer> {
  const { status, headers } = answer;
  const { query, credential, epochMs } = context;
  const { errors, error } = spokenErrors(value);
  const known = errors.find(({ code }) => code !== undefined && CODES.has(code));
  const words = known?.message ?? errors[0]?.message ?? error;
  const said = words === undefined ? undefined : context.redact(words);
  const meaning = (isPassing(status) ? undefined : CODES.get(known?.code ?? NaN)) ?? byStatus(status, error);
  switch (meaning) {
    case 'rate-limited': {
      const retryInMs = refusalWaitMs({ answer, epochMs });
      return { kind: 'rate-limited', reason: `the rate limit is reached (${status})`, retryInMs };
    }
    case 'transient': {
      const retryInMs = retryAfterMs({ headers, epochMs });
      const reason = `the service failed (${status}${known?.code === undefined ? '' : `, code ${known.code}`})`;
      return { kind: 'transient', reason, retryInMs };
    }
    case 'HEADGATE_CLOCK_WRONG': {
      const failure = followerError({ code: meaning, user: query.label, credential, status, said });
      const date = httpDate(headers['date']);
      return date === undefined
        ? { kind: 'unauthorized', error: failure }
        : { kind: 'clock-wrong', offsetMs: date - epochMs, error: failure };
    }
    case 'HEADGATE_USER_NOT_FOUND':
    case 'HEADGATE_USER_SUSPENDED':
    case 'HEADGATE_USER_PROTECTED':
      return { kind: 'not-found', error: followerError({ code: meaning, user: query.label, credential, status, said }) };
    case 'HEADGATE_AUTHENTICATION_FAILED':
    case 'HEADGATE_AUTHENTICATION_BAD':
    case 'HEADGATE_TOKEN_INVALID':
    case 'HEADGATE_CREDENTIAL_SUSPENDED':
    case 'HEADGATE_CREDENTIAL_LOCKED':
    case 'HEADGATE_UNAUTHORIZED':
      return { kind: 'unauthorized', error: followerError({ code: meaning, user: query.label, credential, status, said }) };
    case 'HEADGATE_FORBIDDEN':
    case 'HEADGATE_BAD_REQUEST':
    case 'HEADGATE_UNEXPECTED_STATUS':
      return { kind: 'fatal', error: followerError({ code: meaning, user: query.label, credential, status, said }) };
  }
}

/** A response with a server error or a rate limit says nothing about users and credentials, whatever its body contains. */
function isPassing(status: number): boolean {
  return status >= 500 || status === 420 || status === 429;
}

function byStatus(status: number, error: string | undefined): FollowerErrorCode | 'rate-limited' | 'transient' {
  // For a protected account, the service can send { request, error: 'Not authorized.' } without an error code.
  if (status === 401 && /^not authorized\b/i.test(error ?? '')) return 'HEADGATE_USER_PROTECTED';
  if (status === 420 || status === 429) return 'rate-limited';
  if (status >= 500 || status === 408 || status === 425) return 'transient';
  if (status === 400) return 'HEADGATE_BAD_REQUEST';
  if (status === 401) return 'HEADGATE_UNAUTHORIZED';
  if (status === 403) return 'HEADGATE_FORBIDDEN';
  if (status === 404) return 'HEADGATE_USER_NOT_FOUND';
  return 'HEADGATE_UNEXPECTED_STATUS';
}
