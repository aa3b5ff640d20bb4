import { isAwaitedSecret } from '@headgate/auth';
import type { BudgetEvidence, Permit } from '@headgate/throttle';
import { inOrder } from '../budgets.ts';
import type { CheckedOptions } from '../checked-options.ts';
import type { Connections } from '../http/connections.ts';
import { exchange, type Exchanged } from '../http/exchange.ts';
import { budgetEvidence } from '../http/rate-headers.ts';
import { type Redact, redaction } from '../http/redaction.ts';
import type { HttpResponse } from '../http/response.ts';
import { type SignedRequest, signRequest } from '../http/sign-request.ts';
import { isUnder, wireRequest } from '../http/wire-request.ts';
import type { LimitCheck } from '../limit-check.ts';
import type { ClassifyContext, SourceRequest, WholeDefinition } from '../source-definition.ts';
import { assertNumbers, atOnce, ofDefinition, readable, SourceError, thrown } from '../source-error.ts';
import type { Verdict } from '../verdict.ts';
import type { Outcome, Redirect } from './outcome.ts';
import { MOST_REDIRECTS } from './policy.ts';
import { lastingSecret, type SharedSecrets } from './shared-secret.ts';
import type { SourceCredential } from './source-credential.ts';

/** The parts of a source that each of its attempts needs. */
export interface AttemptContext<Query, Value> {
  readonly definition: WholeDefinition<Query, Value>;
  readonly options: CheckedOptions;
  readonly connections: Connections;
  /** Credentials by name, including ones that are no longer used. */
  readonly credentials: ReadonlyMap<string, SourceCredential>;
  readonly limitCheck: LimitCheck;
  readonly sharedSecrets: SharedSecrets;
}

/** One attempt of a query. */
export interface Attempt<Query> {
  readonly query: Query;
  readonly subject: string;
  readonly credential: SourceCredential;
  readonly permit: Permit;
  /** Returns false if an outage, or one of the credential, has begun since the permit was granted. */
  readonly maySend: () => boolean;
  /** The redirect to request instead of the query's own address. */
  readonly redirect: Redirect | undefined;
  readonly signal: AbortSignal;
}

/** Makes one attempt: signs, sends, reads and classifies, and settles the permit. Rejects with `signal.reason` when aborted. */
export async function attempt<Query, Value>(source: AttemptContext<Query, Value>, one: Attempt<Query>): Promise<Outcome<Value>> {
  const { definition, options, connections, limitCheck } = source;
  const { credential, permit, query, subject, signal } = one;
  const { origin, clock, timeoutMs, maxBodyBytes } = options;
  const about = { service: definition.service, credential: credential.name, subject };
  const signed = await signedRequest(source, one);
  if ('kind' in signed) {
    permit.aborted();
    signal.throwIfAborted();
    return signed;
  }
  const redact = redaction(signed.secrets);
  const names = Object.keys(options.budgets);
  const answered = (evidence: readonly (BudgetEvidence | undefined)[]): void => {
    permit.answered(evidence);
    const stated = credential.budgets.map((budget, i) => ({ name: names[i] ?? '', budget, evidence: evidence[i] }));
    limitCheck.check(stated, definition.evidence !== undefined);
  };
  let sent: Exchanged | undefined;
  try {
    sent = await exchange({
      ...signed.request,
      connections,
      clock,
      origin,
      timeoutMs,
      maxBodyBytes,
      signal,
      onSent: () => one.maySend() && permit.sent(),
      onAnswered: (head) => {
        if (definition.evidence === undefined) answered([budgetEvidence({ head, epochMs: clock.epochMs() })]);
      },
    });
  } finally {
    // If headers arrived, the permit is already settled, unless the definition reads its evidence from the whole response.
    if (sent?.kind === 'unreadable' && sent.status !== undefined) permit.answered();
    else if (sent?.kind !== 'response') permit.aborted();
  }
  signal.throwIfAborted();
  switch (sent.kind) {
    case 'lapsed':
      return sent;
    case 'invalid': {
      const message = `${subject}: ${redact(sent.reason)}`;
      return unsent({ kind: 'fatal', error: new SourceError({ ...about, code: 'HEADGATE_INVALID_REQUEST', retryable: false, message }) });
    }
    case 'unreached':
    case 'lost':
    case 'unreadable':
      return { ...sent, reason: redact(sent.reason) };
    case 'response': {
      const { response } = sent;
      const { recentlyRefused } = credential;
      const context = { ...about, query, epochMs: clock.epochMs(), redact, recentlyRefused };
      const secret = lastingSecret(signed.secrets);
      if (definition.evidence !== undefined) {
        const call = () =>
          inOrder(atOnce(definition.evidence?.(response, context)) ?? {}, names).map((said) => checkedEvidence(said, response));
        try {
          answered(ofDefinition(definition.service, subject, 'evidence', call));
        } catch (error) {
          permit.answered();
          return { kind: 'answered', status: response.status, verdict: { kind: 'fatal', error: error as SourceError }, secret: undefined };
        }
      }
      return redirected(source, response, signed.request, redact, about) ?? classified(source, one, response, context, secret);
    }
  }
}

/** The fields that the errors of one attempt share. */
interface About {
  readonly service: string;
  readonly credential: string;
  readonly subject: string;
}

function unsent(verdict: Extract<Outcome<never>, { readonly kind: 'unsent' }>['verdict'], secret?: string): Outcome<never> {
  return { kind: 'unsent', verdict, isAwaitingSecret: false, secret };
}

/** Makes the request and signs it. Returns the outcome if that can't be done, or if the credential must not be used. */
async function signedRequest<Query, Value>(
  { definition, options, credentials, sharedSecrets }: AttemptContext<Query, Value>,
  one: Attempt<Query>,
): Promise<SignedRequest | Outcome<never>> {
  const { query, subject, credential, redirect, signal } = one;
  const { service } = definition;
  const { origin, basePath, userAgent, clock, timeoutMs } = options;
  const about = { service, credential: credential.name, subject };
  try {
    const call = () => {
      const request = redirectedRequest(atOnce(definition.toRequest(query)), redirect);
      return wireRequest({ request, service, subject, origin, basePath, userAgent });
    };
    const request = ofDefinition(service, subject, 'toRequest', call);
    const signedWith = async (name: string): Promise<SignedRequest> => {
      const { signer } = credentials.get(name) ?? credential;
      return await signRequest({ request, signer, origin, clock, timeoutMs, signal });
    };
    const signed = await signedWith(credential.name);
    const { secrets } = signed;
    const refusal = credential.refusalOf(lastingSecret(secrets));
    if (refusal !== undefined) return unsent({ kind: 'unauthorized', error: refusal }, lastingSecret(secrets));
    const signedBy = async (name: string) => (await signedWith(name)).secrets;
    const isRetired = (name: string) => credentials.get(name)?.retiredBy !== undefined;
    const other = await sharedSecrets.sharedWith(credential.name, secrets, isRetired, signedBy);
    if (other === undefined) return signed;
    const message = `${about.credential}: it has the same secret as ${other}, so ${service} counts both in one budget. Remove one of them.`;
    return unsent({
      kind: 'unauthorized',
      error: new SourceError({ ...about, code: 'HEADGATE_CREDENTIAL_SHARED', retryable: false, message }),
    });
  } catch (thrownBy) {
    const error = readable(thrownBy);
    return { kind: 'unsent', verdict: unsigned(error, about), isAwaitingSecret: isAwaitedSecret(error), secret: undefined };
  }
}

/**
 * Returns the verdict on an error of the definition or the signer. Quotes only errors with a code of Headgate, because others can contain
 * the secret.
 */
function unsigned(error: unknown, about: About): Extract<Outcome<never>, { readonly kind: 'unsent' }>['verdict'] {
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

function checkedEvidence(said: BudgetEvidence | undefined, { status }: HttpResponse): BudgetEvidence | undefined {
  if (!said) return undefined;
  const { remaining, resetInMs, limit } = said;
  assertNumbers({ remaining, resetInMs, limit });
  return { ...said, refused: status === 429 };
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Returns the outcome of a redirect; undefined for any other response. */
function redirected(
  { definition, options }: AttemptContext<never, unknown>,
  { status, headers }: HttpResponse,
  { method, path }: SignedRequest['request'],
  redact: Redact,
  about: About,
): Outcome<never> | undefined {
  if (!REDIRECTS.has(status)) return undefined;
  const { location = '' } = headers;
  const to = location === '' ? null : URL.parse(location, `${options.origin}${path}`);
  const error = (message: string): SourceError =>
    new SourceError({
      ...about,
      code: 'HEADGATE_REDIRECTED',
      retryable: false,
      status,
      message: `${about.subject}: ${about.service} ${message}`,
    });
  if (definition.follow === undefined || to === null || !isUnder(options, to)) {
    // Without the query of the address, which may hold a secret.
    const where = to === null ? 'nowhere' : redact(`${to.origin}${to.pathname}`);
    const message = `redirects to ${where} (${status}), but Headgate doesn't follow redirects with credentials. Request that address: correct baseUrl, or the path.`;
    return { kind: 'answered', status, verdict: { kind: 'fatal', error: error(message) }, secret: undefined };
  }
  const isGet = method !== 'HEAD' && (status === 303 || (status < 303 && method === 'POST'));
  const message = `redirected more than ${MOST_REDIRECTS} times (${status}), last within ${to.origin}. Check that the path exists.`;
  return { kind: 'redirected', status, to: { url: to.href, isGet }, error: error(message) };
}

function redirectedRequest({ method, headers = {}, body, ...own }: SourceRequest, redirect: Redirect | undefined): SourceRequest {
  const same = { ...(method !== undefined && { method }), headers, ...(body !== undefined && { body }) };
  if (redirect === undefined) return { ...own, ...same };
  const { url, isGet } = redirect;
  if (!isGet) return { url, ...same };
  return { url, headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !/^content-/i.test(name))) };
}

function classified<Query, Value>(
  { definition, options }: AttemptContext<Query, Value>,
  { permit }: Attempt<Query>,
  response: HttpResponse,
  context: ClassifyContext<Query>,
  secret: string,
): Outcome<Value> {
  const { status } = response;
  const { service, subject, credential, redact } = context;
  try {
    const verdict = redactedVerdict(atOnce(definition.classify(response, context)), redact);
    if (verdict.kind !== 'ok') return { kind: 'answered', status, verdict, secret };
    if (verdict.cost !== undefined) permit.corrected(inOrder(verdict.cost, Object.keys(options.budgets)));
    return { kind: 'usable', status, value: verdict.value };
  } catch (error) {
    const cause = readable(error);
    const message = `${subject}: the response (${status}) couldn't be classified: classify of the ${service} source threw ${redact(thrown(cause))}. Fix the definition of the source.`;
    const bad = new SourceError({ service, subject, credential, code: 'HEADGATE_CLASSIFY', retryable: false, status, message, cause });
    return { kind: 'answered', status, verdict: { kind: 'fatal', error: bad }, secret: undefined };
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
