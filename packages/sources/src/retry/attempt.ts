import { isAwaitedSecret } from '@headgate/auth';
import type { BudgetEvidence, Permit } from '@headgate/throttle';
import { inOrder } from '../budgets.ts';
import { exchange, type Exchanged } from '../http/exchange.ts';
import { budgetEvidence } from '../http/rate-headers.ts';
import { type Redact, redaction } from '../http/redaction.ts';
import type { HttpResponse } from '../http/response.ts';
import { type SignedRequest, signRequest } from '../http/sign-request.ts';
import { isUnder, wireRequest } from '../http/wire-request.ts';
import type { ClassifyContext, SourceRequest } from '../source-definition.ts';
import { ofDefinition, SourceError, type SourceErrorCode } from '../source-error.ts';
import type { SourceParts } from '../source-parts.ts';
import type { Verdict } from '../verdict.ts';
import type { Outcome, Redirect } from './outcome.ts';
import { MOST_REDIRECTS } from './policy.ts';
import { lastingSecret } from './shared-secret.ts';
import type { SourceCredential } from './source-credential.ts';

/** One attempt of a query. */
export class Attempt<Query, Value> {
  readonly #parts: SourceParts<Query, Value>;
  readonly #query: Query;
  readonly #credential: SourceCredential;
  readonly #permit: Permit;
  readonly #redirect: Redirect | undefined;
  readonly #send: () => boolean;
  readonly #signal: AbortSignal;
  /** The fields that its errors share. */
  readonly #about: { readonly service: string; readonly credential: string; readonly subject: string };

  /**
   * `redirect`: requested instead of the query's own address. `send`: called right before the first byte is sent; returns false if the
   * request must not be sent.
   */
  constructor(
    parts: SourceParts<Query, Value>,
    query: Query,
    subject: string,
    credential: SourceCredential,
    permit: Permit,
    redirect: Redirect | undefined,
    send: () => boolean,
    signal: AbortSignal,
  ) {
    this.#parts = parts;
    this.#query = query;
    this.#credential = credential;
    this.#permit = permit;
    this.#redirect = redirect;
    this.#send = send;
    this.#signal = signal;
    this.#about = { service: parts.definition.service, credential: credential.name, subject };
  }

  /** Signs, sends, reads and classifies, and settles the permit. Rejects with the signal's reason when aborted. */
  async run(): Promise<Outcome<Value>> {
    const signed = await this.#signed();
    if ('kind' in signed) {
      this.#permit.aborted();
      this.#signal.throwIfAborted();
      return signed;
    }
    const redact = redaction(signed.secrets);
    const exchanged = await this.#exchanged(signed);
    this.#signal.throwIfAborted();
    switch (exchanged.kind) {
      case 'lapsed':
        return exchanged;
      case 'invalid':
        return unsent({
          kind: 'fatal',
          error: this.#error('HEADGATE_INVALID_REQUEST', `${this.#about.subject}: ${redact(exchanged.reason)}`),
        });
      case 'unreached':
      case 'lost':
      case 'unreadable':
        return { ...exchanged, reason: redact(exchanged.reason) };
      case 'response':
        return this.#read(exchanged.response, signed, redact);
    }
  }

  /** Makes the request and signs it. Returns the outcome if that can't be done, or if the credential must not be used. */
  async #signed(): Promise<SignedRequest | Outcome<never>> {
    const { definition, options, sharedSecrets } = this.#parts;
    const credential = this.#credential;
    const { service, subject } = this.#about;
    try {
      const request = ofDefinition(
        this.#about,
        'toRequest',
        () => definition.toRequest(this.#query),
        (given) => wireRequest(service, subject, redirected(given, this.#redirect), options),
      );
      const signed = await signRequest(request, credential.signer, options, this.#signal);
      const secret = lastingSecret(signed.secrets);
      const refusal = credential.refusalOf(secret);
      if (refusal !== undefined) return unsent({ kind: 'unauthorized', error: refusal }, secret);
      const other = sharedSecrets.sharedWith(credential.name, secret);
      if (other === undefined) return signed;
      const message = `${credential.name}: it has the same secret as ${other}, so ${service} counts both in one budget. Remove one of them.`;
      return unsent({ kind: 'unauthorized', error: this.#error('HEADGATE_CREDENTIAL_SHARED', message) });
    } catch (error) {
      return { kind: 'unsent', verdict: this.#unsigned(error), isAwaitingSecret: isAwaitedSecret(error), secret: undefined };
    }
  }

  /**
   * Returns the verdict on an error of the definition or the signer. Quotes only errors with a code of Headgate, because others can contain
   * the secret.
   */
  #unsigned(error: unknown): Unsent['verdict'] {
    if (error instanceof SourceError) return { kind: 'fatal', error };
    const { credential, subject } = this.#about;
    if (isAwaitedSecret(error)) return { kind: 'transient', reason: `${credential}: ${error.message}` };
    const known = error instanceof Error && 'code' in error && String(error.code).startsWith('HEADGATE_');
    const message = known ? error.message : 'its signer threw';
    if (known && 'retryable' in error && error.retryable === true) return { kind: 'transient', reason: `${credential}: ${message}` };
    const why = `the request couldn't be signed. ${message}`;
    return known && error.code === 'HEADGATE_UNSIGNABLE_REQUEST'
      ? { kind: 'fatal', error: this.#error('HEADGATE_UNSIGNABLE_REQUEST', `${subject}: ${why}`) }
      : { kind: 'unauthorized', error: this.#error('HEADGATE_CREDENTIAL_UNUSABLE', `${credential}: ${why}`) };
  }

  /** Sends the request, reads the response, and settles the permit, except for a response that `evidence` of the definition reads. */
  async #exchanged({ request }: SignedRequest): Promise<Exchanged> {
    const { definition, options, connections } = this.#parts;
    const onHead = (head: Omit<HttpResponse, 'body'>): void => {
      if (definition.evidence === undefined) this.#answered([budgetEvidence({ head, epochMs: options.clock.epochMs() })]);
    };
    let exchanged: Exchanged | undefined;
    try {
      exchanged = await exchange(connections, request, options, this.#signal, this.#send, onHead);
      return exchanged;
    } finally {
      // If headers arrived, the permit is already settled, unless the definition reads its evidence from the whole response.
      if (exchanged?.kind === 'unreadable' && exchanged.status !== undefined) this.#permit.answered();
      else if (exchanged?.kind !== 'response') this.#permit.aborted();
    }
  }

  #answered(evidence: readonly (BudgetEvidence | undefined)[]): void {
    const { definition, budgets, limitCheck } = this.#parts;
    this.#permit.answered(evidence);
    const stated = this.#credential.budgets.map((budget, i) => ({ name: budgets[i] ?? '', budget, evidence: evidence[i] }));
    limitCheck.check(stated, definition.evidence !== undefined);
  }

  #read(response: HttpResponse, { request, secrets }: SignedRequest, redact: Redact): Outcome<Value> {
    const { definition, options, budgets } = this.#parts;
    const { status } = response;
    const { recentlyRefused } = this.#credential;
    const context = { ...this.#about, query: this.#query, epochMs: options.clock.epochMs(), redact, recentlyRefused };
    try {
      if (definition.evidence !== undefined) {
        const read = (given: Readonly<Record<string, BudgetEvidence | undefined>>) =>
          inOrder(given, budgets).map((one) => (one ? { ...one, refused: status === 429 } : undefined));
        this.#answered(ofDefinition(this.#about, 'evidence', () => definition.evidence?.(response, context) ?? {}, read));
      }
      if (REDIRECTS.has(status)) return this.#redirected(response, request.method, request.path, redact);
      const verdict = this.#classified(response, context);
      if (verdict.kind === 'ok') return { kind: 'usable', status, value: verdict.value };
      return { kind: 'answered', status, verdict: redacted(verdict, redact), secret: lastingSecret(secrets) };
    } catch (thrown) {
      this.#permit.answered();
      const verdict = { kind: 'fatal', error: thrown as SourceError } as const;
      return { kind: 'answered', status, verdict: redacted(verdict, redact), secret: undefined };
    }
  }

  #classified(response: HttpResponse, context: ClassifyContext<Query>): Verdict<Value> {
    const { definition, budgets } = this.#parts;
    const about = { ...this.#about, status: response.status };
    const read = (verdict: Verdict<Value>): Verdict<Value> => {
      if (verdict.kind === 'ok' && verdict.cost !== undefined) this.#permit.corrected(inOrder(verdict.cost, budgets));
      return verdict;
    };
    return ofDefinition(about, 'classify', () => definition.classify(response, context), read);
  }

  #redirected({ status, headers }: HttpResponse, method: string, path: string, redact: Redact): Outcome<never> {
    const { definition, options } = this.#parts;
    const { location = '' } = headers;
    const to = location === '' ? null : URL.parse(location, `${options.origin}${path}`);
    const error = (message: string): SourceError =>
      this.#error('HEADGATE_REDIRECTED', `${this.#about.subject}: ${this.#about.service} ${message}`, status);
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

  #error(code: SourceErrorCode, message: string, status?: number): SourceError {
    return new SourceError({ ...this.#about, code, retryable: false, status, message });
  }
}

type Unsent = Extract<Outcome<never>, { readonly kind: 'unsent' }>;

function unsent(verdict: Unsent['verdict'], secret?: string): Unsent {
  return { kind: 'unsent', verdict, isAwaitingSecret: false, secret };
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Returns the request of a redirect, or the query's own. */
function redirected({ method, headers = {}, body, ...own }: SourceRequest, redirect: Redirect | undefined): SourceRequest {
  const same = { ...(method !== undefined && { method }), headers, ...(body !== undefined && { body }) };
  if (redirect === undefined) return { ...own, ...same };
  const { url, isGet } = redirect;
  if (!isGet) return { url, ...same };
  return { url, headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !/^content-/i.test(name))) };
}

/** Removes secrets that the definition may have quoted from the verdict's texts. */
function redacted<V extends Verdict<unknown>>(verdict: V, redact: Redact): V {
  if ('reason' in verdict) return { ...verdict, reason: redact(verdict.reason) };
  if ('where' in verdict) return { ...verdict, where: redact(verdict.where) };
  if ('error' in verdict) verdict.error.message = redact(verdict.error.message);
  return verdict;
}
