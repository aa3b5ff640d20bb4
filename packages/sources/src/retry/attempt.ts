import { isAwaitedSecret } from '@headgate/auth';
import type { BudgetEvidence, Permit } from '@headgate/throttle';
import { inOrder } from '../budgets.ts';
import type { CheckedOptions } from '../checked-options.ts';
import type { Connections } from '../http/connections.ts';
import { exchange, ExchangeError } from '../http/exchange.ts';
import type { HttpResponse } from '../http/response.ts';
import { budgetEvidence } from '../http/rate-headers.ts';
import { type Redact, redaction } from '../http/redaction.ts';
import { type SignedRequest, signRequest } from '../http/sign-request.ts';
import { isUnder, type WireRequest, wireRequest } from '../http/wire-request.ts';
import type { LimitCheck } from '../limit-check.ts';
import type { SourceRequest, WholeDefinition } from '../source-definition.ts';
import { assertNumbers, atOnce, ofDefinition, readable, SourceError, thrown } from '../source-error.ts';
import type { Verdict } from '../verdict.ts';
import { lastingSecret, type SharedSecret } from './shared-secret.ts';
import type { SourceCredential } from './source-credential.ts';

/** The parts of a source that each of its attempts needs. */
export interface AttemptContext<Query, Value> {
  readonly definition: WholeDefinition<Query, Value>;
  readonly options: CheckedOptions;
  readonly connections: Connections;
  /** Credentials by name, including ones that are no longer used. */
  readonly credentials: ReadonlyMap<string, SourceCredential>;
}

export interface AttemptOptions<Query, Value> extends AttemptContext<Query, Value> {
  readonly credential: SourceCredential;
  readonly limitCheck: LimitCheck;
  readonly sharedSecret: SharedSecret;
  readonly permit: Permit;
  /** Returns false if an outage, or one of the credential, has begun since the permit was granted. */
  readonly maySend: () => boolean;
  readonly query: Query;
  readonly subject: string;
  /** The redirect to request instead of the query's own address. */
  readonly redirect: Redirect | undefined;
  readonly signal: AbortSignal;
}

/** An address of the service that a response has redirected to. */
export interface Redirect {
  readonly url: string;
  /** True if the redirect is requested with GET and without a body (RFC 9110, section 15.4). */
  readonly isGet: boolean;
}

export interface Attempted<Value> {
  readonly verdict: Verdict<Value>;
  /** The status of the response, if one came. */
  readonly status?: number;
  /** True if a part of a response came that Headgate can't read. */
  readonly begun?: boolean;
  /** True if the request was lost on a kept-alive connection, which probably died while idle. */
  readonly stale?: boolean;
  /** The address of a redirect that may be followed; after too many of them, `verdict` counts. */
  readonly redirect?: Redirect;
  /** The part of the credential's secret that stays the same from request to request. */
  readonly secret?: string;
  /** True if no byte of the request was sent. */
  readonly unsent?: boolean;
  /** True if nothing was sent, because the credential has no secret yet. */
  readonly awaitsSecret?: boolean;
}

/**
 * Makes one attempt: signs, sends, reads and classifies, and settles the permit. Returns `lapsed` if nothing was sent because
 * the permit expired or became void. Rejects with `signal.reason` when aborted.
 */
export async function attempt<Query, Value>(given: AttemptOptions<Query, Value>): Promise<Attempted<Value> | 'lapsed'> {
  const { definition, options, connections, credential, credentials, permit, query, subject, signal } = given;
  const { service } = definition;
  const about = { service, credential: credential.name, subject };
  const { origin, basePath, userAgent } = options;
  const { clock, timeoutMs } = options;
  let signed: SignedRequest;
  try {
    const call = (): WireRequest =>
      wireRequest({
        request: redirectedRequest(atOnce(definition.toRequest(query)), given.redirect),
        service,
        subject,
        origin,
        basePath,
        userAgent,
      });
    const request = ofDefinition({ service, subject, name: 'toRequest', call });
    const signedWith = (name: string) => {
      const { signer } = credentials.get(name) ?? credential;
      return signRequest({ request, signer, origin, clock, timeoutMs, signal });
    };
    const own = signedWith(credential.name);
    signed = own instanceof Promise ? await own : own;
    const { secrets } = signed;
    const refusal = credential.refusalOf(lastingSecret(secrets));
    if (refusal !== undefined) {
      permit.aborted();
      return { verdict: { kind: 'unauthorized', error: refusal }, secret: lastingSecret(secrets), unsent: true };
    }
    const signedBy = async (name: string) => (await signedWith(name)).secrets;
    const isRetired = (name: string) => credentials.get(name)?.retiredBy !== undefined;
    const other = await given.sharedSecret({ credential: credential.name, secrets, isRetired, signedBy });
    if (other !== undefined) {
      permit.aborted();
      return { verdict: { kind: 'unauthorized', error: shared(other, about) }, unsent: true };
    }
  } catch (thrownBy) {
    permit.aborted();
    signal.throwIfAborted();
    const error = readable(thrownBy);
    return { verdict: unsigned(error, about), unsent: true, awaitsSecret: isAwaitedSecret(error) };
  }
  const redact = redaction(signed.secrets);
  const names = Object.keys(options.budgets);
  const answered = (evidence: readonly (BudgetEvidence | undefined)[]): void => {
    permit.answered(evidence);
    const stated = credential.budgets.map((budget, i) => ({ name: names[i] ?? '', budget, evidence: evidence[i] }));
    given.limitCheck.check(stated, definition.evidence !== undefined);
  };
  let answer: HttpResponse;
  try {
    answer = await exchange({
      ...signed.request,
      connections,
      clock,
      origin,
      timeoutMs,
      maxBodyBytes: options.maxBodyBytes,
      signal,
      onSent: () => given.maySend() && permit.sent(),
      onAnswered: (head) => {
        if (definition.evidence === undefined) answered([budgetEvidence({ head, epochMs: clock.epochMs() })]);
      },
    });
  } catch (error) {
    const failure = error instanceof ExchangeError ? error : undefined;
    // If headers arrived, the permit is already settled, unless the definition reads its evidence from the whole response.
    if (failure?.status === undefined) permit.aborted();
    else permit.answered();
    signal.throwIfAborted();
    if (failure === undefined) throw error;
    if (failure.lapsed) return 'lapsed';
    const { status, begun, stale, invalid, unsent } = failure;
    const reason = redact(failure.message);
    const fatal = new SourceError({ ...about, code: 'HEADGATE_INVALID_REQUEST', retryable: false, message: `${about.subject}: ${reason}` });
    const verdict: Verdict<Value> = invalid ? { kind: 'fatal', error: fatal } : { kind: 'transient', reason };
    return { verdict, begun, stale, unsent, ...(status !== undefined && { status }) };
  }
  signal.throwIfAborted();
  const { status } = answer;
  const { recentlyRefused } = credential;
  const context = { query, service, subject, credential: credential.name, epochMs: clock.epochMs(), redact, recentlyRefused };
  if (definition.evidence !== undefined) {
    const refused = status === 429;
    const call = () =>
      inOrder(atOnce(definition.evidence?.(answer, context)) ?? {}, names).map((one) => {
        if (!one) return undefined;
        const { remaining, resetInMs, limit } = one;
        assertNumbers({ remaining, resetInMs, limit });
        return { ...one, refused };
      });
    let evidence: readonly (BudgetEvidence | undefined)[];
    try {
      evidence = ofDefinition({ service, subject, name: 'evidence', call });
    } catch (error) {
      permit.answered();
      return { verdict: { kind: 'fatal', error: error as SourceError }, status };
    }
    answered(evidence);
  }
  if (REDIRECTS.has(status)) {
    const location = answer.headers['location'] ?? '';
    const to = location === '' ? null : URL.parse(location, `${origin}${signed.request.path}`);
    if (definition.follow === undefined || to === null || !isUnder(options, to)) {
      return {
        verdict: { kind: 'fatal', error: redirected(to === null ? 'nowhere' : redact(`${to.origin}${to.pathname}`), status, about) },
        status,
      };
    }
    const { method } = signed.request;
    const isGet = method !== 'HEAD' && (status === 303 || (status < 303 && method === 'POST'));
    return { verdict: { kind: 'fatal', error: tooManyRedirects(to, status, about) }, status, redirect: { url: to.href, isGet } };
  }
  try {
    const verdict = redactedVerdict(atOnce(definition.classify(answer, context)), redact);
    if (verdict.kind === 'ok' && verdict.cost !== undefined) permit.corrected(inOrder(verdict.cost, names));
    return { verdict, status, secret: lastingSecret(signed.secrets) };
  } catch (error) {
    const cause = readable(error);
    const words = redact(thrown(cause));
    const message = `${about.subject}: the response (${status}) couldn't be classified: classify of the ${service} source threw ${words}. Fix the definition of the source.`;
    return {
      verdict: { kind: 'fatal', error: new SourceError({ ...about, code: 'HEADGATE_CLASSIFY', retryable: false, status, message, cause }) },
      status,
    };
  }
}

const KINDS: ReadonlySet<string> = new Set<Verdict<never>['kind']>([
  'ok',
  'rate-limited',
  'transient',
  'schema-mismatch',
  'unauthorized',
  'clock-wrong',
  'ambiguous',
  'not-found',
  'fatal',
]);

/** Removes secrets that `classify` may have quoted from the verdict's texts. */
function redactedVerdict<Value>(verdict: Verdict<Value>, redact: Redact): Verdict<Value> {
  // A definition can run without a type check.
  if (!KINDS.has(verdict.kind)) throw new TypeError(`it returned a verdict of the unknown kind ${verdict.kind}`);
  if ('error' in verdict && !(verdict.error instanceof Error && 'code' in verdict.error)) {
    throw new TypeError(`it returned ${verdict.kind} with an error that isn't a SourceError`);
  }
  const { retryInMs, offsetMs } = verdict as { readonly retryInMs?: unknown; readonly offsetMs?: unknown };
  assertNumbers({ retryInMs, offsetMs });
  if ('reason' in verdict) return { ...verdict, reason: redact(verdict.reason) };
  if ('where' in verdict) return { ...verdict, where: redact(verdict.where) };
  if ('error' in verdict) verdict.error.message = redact(verdict.error.message);
  return verdict;
}

/** The fields that the errors of one attempt share. */
export interface About {
  readonly service: string;
  readonly credential: string;
  readonly subject: string;
}

function shared(other: string, about: About): SourceError {
  const message = `${about.credential}: it has the same secret as ${other}, so ${about.service} counts both in one budget. Remove one of them.`;
  return new SourceError({ ...about, code: 'HEADGATE_CREDENTIAL_SHARED', retryable: false, message });
}

export const MOST_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

function redirectedRequest({ method, headers = {}, body, ...own }: SourceRequest, redirect: Redirect | undefined): SourceRequest {
  const same = { ...(method !== undefined && { method }), headers, ...(body !== undefined && { body }) };
  if (redirect === undefined) return { ...own, ...same };
  const { url, isGet } = redirect;
  if (!isGet) return { url, ...same };
  return { url, headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !/^content-/i.test(name))) };
}

/**
 * Creates the error for a redirect that isn't followed. `to` is the redirect's redacted address without its query. The error doesn't quote the redirect's
 * query, which may hold a secret.
 */
function redirected(to: string, status: number, about: About): SourceError {
  const message = `${about.subject}: ${about.service} redirects to ${to} (${status}), but Headgate doesn't follow redirects with credentials. Request that address: correct baseUrl, or the path.`;
  return new SourceError({ ...about, code: 'HEADGATE_REDIRECTED', retryable: false, status, message });
}

function tooManyRedirects(to: URL, status: number, about: About): SourceError {
  const message = `${about.subject}: ${about.service} redirected more than ${MOST_REDIRECTS} times (${status}), last within ${to.origin}. Check that the path exists.`;
  return new SourceError({ ...about, code: 'HEADGATE_REDIRECTED', retryable: false, status, message });
}

/**
 * Returns the verdict on an error of the definition or the signer. Quotes only errors with a code of Headgate, because others can contain
 * the secret.
 */
function unsigned(error: unknown, about: About): Verdict<never> {
  if (error instanceof SourceError) return { kind: 'fatal', error };
  if (isAwaitedSecret(error)) return { kind: 'transient', reason: `${about.credential}: ${error.message}` };
  const known = error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('HEADGATE_');
  const message = known ? error.message : 'its signer threw';
  if (known && 'retryable' in error && error.retryable === true) return { kind: 'transient', reason: `${about.credential}: ${message}` };
  const unsignable = known && error.code === 'HEADGATE_UNSIGNABLE_REQUEST';
  const code = unsignable ? 'HEADGATE_UNSIGNABLE_REQUEST' : 'HEADGATE_CREDENTIAL_UNUSABLE';
  const text = `${unsignable ? about.subject : about.credential}: the request couldn't be signed. ${message}`;
  return { kind: unsignable ? 'fatal' : 'unauthorized', error: new SourceError({ ...about, code, retryable: false, message: text }) };
}
