import type { Signed, Signer } from '@headgate/auth';
import { onAbort } from '@headgate/throttle/internal';
import type { CheckedOptions } from '../checked-options.ts';
import { parseUntouched } from '../exact-json.ts';
import { percentEncoded, type WireRequest } from './wire-request.ts';

/** A request with the additions of its signer. */
export interface SignedRequest {
  readonly request: WireRequest;
  /** Every value that the signer added. Each may be a secret. */
  readonly secrets: readonly string[];
}

/**
 * Signs a request, synchronously if the signer does. Throws the signer's error, or rejects with it. `timeoutMs`: the maximum time that the
 * signer may take.
 */
export function signRequest(
  request: WireRequest,
  signer: Signer,
  { origin, clock, timeoutMs }: Pick<CheckedOptions, 'origin' | 'clock' | 'timeoutMs'>,
  signal: AbortSignal,
): SignedRequest | Promise<SignedRequest> {
  const { method, path, headers, body } = request;
  const contentType = headers['content-type'];
  const about = {
    method,
    url: `${origin}${path}`,
    headers,
    ...(body !== undefined && { body }),
    ...(contentType !== undefined && { contentType }),
  };
  const abort = new AbortController();
  const signed = signer.sign(about, { signal: abort.signal });
  if (!isThenable(signed)) return added(request, signed);
  return new Promise((resolve, reject) => {
    const giveUp = (reason: unknown): void => {
      reject(reason);
      abort.abort(reason);
    };
    const cancelTimer = clock.schedule(timeoutMs, () => giveUp(timedOut(timeoutMs)));
    const forget = onAbort(signal, giveUp);
    Promise.resolve(signed)
      .then((given) => resolve(added(request, given)), reject)
      .finally(() => {
        cancelTimer();
        forget();
      });
  });
}

/**
 * True for a promise of any library or realm, which `instanceof Promise` could miss. Without awaiting it, the request would be sent
 * unsigned.
 */
function isThenable(signed: Signed | Promise<Signed>): signed is Promise<Signed> {
  return 'then' in signed;
}

class SigningError extends Error {
  readonly code: string;
  readonly retryable: boolean;

  constructor(code: string, retryable: boolean, message: string) {
    super(message);
    this.code = code;
    this.retryable = retryable;
  }
}

function timedOut(timeoutMs: number): SigningError {
  const message = `its signer returned nothing within ${timeoutMs.toLocaleString('en-US')} ms (timeout)`;
  return new SigningError('HEADGATE_SIGNER_TIMED_OUT', true, message);
}

function added(request: WireRequest, { authorization, headers = {}, query = {}, body = {} }: Signed): SignedRequest {
  const given: Record<string, string> = { ...(authorization !== undefined && { authorization }) };
  for (const [name, value] of Object.entries(headers)) given[name.toLowerCase()] = value;
  return {
    request: { ...withMembers(request, body), path: withQuery(request.path, query), headers: { ...request.headers, ...given } },
    secrets: [...Object.values(given), ...Object.values(query), ...Object.values(body)],
  };
}

/** Returns the request with these members added to its JSON body or form. */
function withMembers(request: WireRequest, members: Readonly<Record<string, string>>): WireRequest {
  if (Object.keys(members).length === 0) return request;
  const { body = '', headers } = request;
  if (/^application\/x-www-form-urlencoded/i.test(headers['content-type'] ?? '')) {
    const form = new URLSearchParams(body);
    for (const [name, value] of Object.entries(members)) form.set(name, value);
    return { ...request, body: form.toString() };
  }
  return { ...request, body: JSON.stringify({ ...jsonObject(body), ...members }) };
}

function jsonObject(body: string): object {
  try {
    if (/^\s*\{/.test(body)) return parseUntouched(body) as object;
  } catch {
    // The parser's error quotes the body.
  }
  const message = "The API key goes into the body, but the body isn't a form or a JSON object (at most 500 levels deep).";
  throw new SigningError('HEADGATE_UNSIGNABLE_REQUEST', false, message);
}

/**
 * Returns the path with these parameters. They replace the path's own of the same names, because an address from a response may hold an
 * older key.
 */
function withQuery(path: string, query: Readonly<Record<string, string>>): string {
  const given = Object.entries(query);
  if (given.length === 0) return path;
  const [before = '', own = ''] = path.split(/\?(.*)/s);
  const kept = own
    .split('&')
    .filter((pair) => pair !== '' && ![...new URLSearchParams(pair).keys()].some((name) => Object.hasOwn(query, name)));
  return `${before}?${[...kept, ...given.map(([name, value]) => `${percentEncoded(name)}=${percentEncoded(value)}`)].join('&')}`;
}
