import { httpDate, retryAfterMs } from '@headgate/throttle';
import { parseSpelled } from '../exact-json.ts';
import { foreignBody, jsonBody } from '../http/json-body.ts';
import { refusalWaitMs } from '../http/rate-headers.ts';
import type { HttpResponse } from '../http/response.ts';
import type { ClassifyContext } from '../source-definition.ts';
import { refusedCredential } from '../status-verdict.ts';
import type { Verdict } from '../verdict.ts';
import { followerError, type FollowerErrorCode } from './follower-error.ts';
import { pageFastPath } from './page-fast-path.ts';
import { type FollowersAnswer, type PageContent, readPage } from './page.ts';
import type { FollowersQuery } from './query.ts';
import { type SpokenError, spokenErrors } from './spoken-errors.ts';

export function classify(answer: HttpResponse, context: ClassifyContext<FollowersQuery>): Verdict<FollowersAnswer> {
  const { status } = answer;
  const { count, direction } = context.query;
  const plain = status === 200 ? pageFastPath(answer.body, direction, count) : undefined;
  if (plain !== undefined) return okay(plain, context);
  const body = jsonBody(answer, parseSpelled);
  const said = body.kind === 'json' ? spokenErrors(body.value) : [];
  if (status !== 200) return judged(answer, context, said);
  if (body.kind === 'broken') return { kind: 'transient', reason: `${body.reason} with status 200` };
  const page = readPage(body.value, direction, count);
  if (page.kind === 'page') return okay(page.content, context);
  if (said.some((one) => one.form !== 'whole' || meaningOf(one) !== undefined)) return judged(answer, context, said);
  const { where, content } = page;
  return { kind: 'schema-mismatch', where, ...(content !== undefined && { value: valueOf(content, context) }) };
}

function okay(content: PageContent, context: ClassifyContext<FollowersQuery>): Verdict<FollowersAnswer> {
  return { kind: 'ok', value: valueOf(content, context) };
}

function valueOf(content: PageContent, { query, credential }: ClassifyContext<FollowersQuery>): FollowersAnswer {
  return { user: query.label, cursor: query.cursor, ...content, credential };
}

type Meaning = FollowerErrorCode | 'rate-limited' | 'transient';

/** Meanings of the service's error codes, from the tables of published clients. */
const CODES: ReadonlyMap<number, Meaning> = new Map([
  [17, 'HEADGATE_USER_NOT_FOUND'],
  [32, 'HEADGATE_AUTHENTICATION_FAILED'],
  [34, 'HEADGATE_USER_NOT_FOUND'],
  [50, 'HEADGATE_USER_NOT_FOUND'],
  [63, 'HEADGATE_USER_SUSPENDED'],
  [64, 'HEADGATE_CREDENTIAL_SUSPENDED'],
  [87, 'HEADGATE_CREDENTIAL_FORBIDDEN'],
  [88, 'rate-limited'],
  [89, 'HEADGATE_TOKEN_INVALID'],
  [99, 'HEADGATE_AUTHENTICATION_FAILED'],
  [108, 'HEADGATE_USER_NOT_FOUND'],
  [130, 'transient'],
  [131, 'transient'],
  [135, 'HEADGATE_CLOCK_WRONG'],
  [136, 'HEADGATE_FORBIDDEN'],
  [179, 'HEADGATE_USER_PROTECTED'],
  [215, 'HEADGATE_AUTHENTICATION_BAD'],
  [220, 'HEADGATE_CREDENTIAL_FORBIDDEN'],
  [231, 'HEADGATE_CREDENTIAL_LOCKED'],
  [261, 'HEADGATE_CREDENTIAL_FORBIDDEN'],
  [326, 'HEADGATE_CREDENTIAL_LOCKED'],
  [416, 'HEADGATE_CREDENTIAL_SUSPENDED'],
  [453, 'HEADGATE_CREDENTIAL_FORBIDDEN'],
  [477, 'HEADGATE_CREDENTIAL_FORBIDDEN'],
]);

/** Meanings of the service's newer problem types: the last part of the `type`, or the `reason`. */
const PROBLEMS: ReadonlyMap<string, Meaning> = new Map([
  ['client-forbidden', 'HEADGATE_CREDENTIAL_FORBIDDEN'],
  ['client-not-enrolled', 'HEADGATE_CREDENTIAL_FORBIDDEN'],
  ['disallowed-resource', 'HEADGATE_FORBIDDEN'],
  ['invalid-request', 'HEADGATE_BAD_REQUEST'],
  ['not-authorized-for-resource', 'HEADGATE_USER_PROTECTED'],
  ['oauth1-permissions', 'HEADGATE_CREDENTIAL_FORBIDDEN'],
  ['resource-not-found', 'HEADGATE_USER_NOT_FOUND'],
  ['unsupported-authentication', 'HEADGATE_CREDENTIAL_FORBIDDEN'],
  ['usage-capped', 'HEADGATE_CREDENTIAL_FORBIDDEN'],
]);

/** Judges an error: by its code or problem type if it has a known one, and otherwise by its status, whatever the form of its body. */
function judged(answer: HttpResponse, context: ClassifyContext<FollowersQuery>, errors: readonly SpokenError[]): Verdict<FollowersAnswer> {
  const { status, headers } = answer;
  const { query, credential, epochMs, recentlyRefused } = context;
  const foreign = isPassing(status) ? undefined : foreignBody(answer);
  if (foreign !== undefined) {
    return { kind: 'transient', reason: `${foreign} with status ${status}`, retryInMs: retryAfterMs({ headers, epochMs }) };
  }
  const known = errors.find((one) => meaningOf(one) !== undefined);
  const words = (known ?? errors.find(({ text }) => text !== undefined))?.text;
  const said = words === undefined ? undefined : context.redact(words);
  const meaning = (isPassing(status) || known === undefined ? undefined : meaningOf(known)) ?? byStatus(status, errors);
  if (meaning === 'rate-limited') {
    const what = errors.some(isUsageCap) ? "the credential's usage cap" : 'the rate limit';
    return {
      kind: 'rate-limited',
      reason: `${what} is reached (${status})`,
      retryInMs: refusalWaitMs({ answer, epochMs, recentlyRefused }),
    };
  }
  if (meaning === 'transient') {
    const reason = `the service failed (${status}${known?.code === undefined ? '' : `, code ${known.code}`})`;
    return { kind: 'transient', reason, retryInMs: retryAfterMs({ headers, epochMs }) };
  }
  const error = followerError(meaning, query.label, credential, status, said);
  switch (meaning) {
    case 'HEADGATE_CLOCK_WRONG': {
      const date = httpDate(headers['date']);
      return date === undefined ? { kind: 'unauthorized', error } : { kind: 'clock-wrong', offsetMs: date - epochMs, error };
    }
    case 'HEADGATE_AUTHENTICATION_FAILED':
    case 'HEADGATE_UNAUTHORIZED':
      return refusedCredential(answer, context, error);
    case 'HEADGATE_AUTHENTICATION_BAD':
    case 'HEADGATE_TOKEN_INVALID':
    case 'HEADGATE_CREDENTIAL_SUSPENDED':
    case 'HEADGATE_CREDENTIAL_LOCKED':
    case 'HEADGATE_CREDENTIAL_FORBIDDEN':
      return { kind: 'unauthorized', error };
    case 'HEADGATE_USER_NOT_FOUND':
    case 'HEADGATE_USER_SUSPENDED':
      return { kind: 'not-found', error };
    // A credential of a follower may read the list of a protected account.
    case 'HEADGATE_USER_PROTECTED':
      return { kind: 'not-found', error, perCredential: true };
    // Without a known code, a 403 may be about the user or about the credential.
    case 'HEADGATE_FORBIDDEN':
      return { kind: 'fatal', error, perCredential: true };
    case 'HEADGATE_BAD_REQUEST':
    case 'HEADGATE_UNEXPECTED_STATUS':
      return { kind: 'fatal', error };
  }
}

function meaningOf({ code, problems }: SpokenError): Meaning | undefined {
  return CODES.get(code ?? NaN) ?? problems.map((one) => PROBLEMS.get(one)).find((one) => one !== undefined);
}

function isUsageCap({ problems }: SpokenError): boolean {
  return problems.includes('usage-capped');
}

/** A response with a server error or a rate limit says nothing about users and credentials, whatever its body contains. */
function isPassing(status: number): boolean {
  return status >= 500 || status === 420 || status === 429;
}

function byStatus(status: number, errors: readonly SpokenError[]): Meaning {
  // For a protected account, the service can send { request, error: 'Not authorized.' } without an error code.
  if (status === 401 && errors.some(({ form, text = '' }) => form === 'text' && /^not authorized\b/i.test(text)))
    return 'HEADGATE_USER_PROTECTED';
  if (status === 420 || status === 429) return 'rate-limited';
  if (status >= 500 || status === 408 || status === 425) return 'transient';
  if (status === 400) return 'HEADGATE_BAD_REQUEST';
  if (status === 401) return 'HEADGATE_UNAUTHORIZED';
  if (status === 403) return 'HEADGATE_FORBIDDEN';
  if (status === 404) return 'HEADGATE_USER_NOT_FOUND';
  return 'HEADGATE_UNEXPECTED_STATUS';
}
