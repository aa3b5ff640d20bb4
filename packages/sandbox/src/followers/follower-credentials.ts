import { createHash } from 'node:crypto';

import { hasValidSignature, isWellFormed, parseOAuthHeader } from './oauth-verify.ts';
import type { SignedRequest } from './oauth-verify.ts';
import { SandboxOptionError } from '../sandbox-option-error.ts';

/** A client's credential at the followers service. Each credential has its own window. */
export type FollowersCredential = {
  readonly name: string;
  /** Refuses each request of the credential with this error, such as 453: its plan doesn't include the operation. Default: none. */
  readonly refusedWith?: 32 | 64 | 89 | 99 | 220 | 261 | 326 | 416 | 453;
} & (
  | { readonly bearer: string }
  | {
      readonly oauth1: {
        readonly consumerKey: string;
        readonly consumerSecret: string;
        /** The `oauth_token` that requests must have. Default: none, and requests must have none. */
        readonly token?: string;
        readonly tokenSecret?: string;
      };
    }
);

/** The errors about a credential: status and message, by their codes. */
const refusals = {
  32: [401, 'Could not authenticate you.'],
  64: [403, 'Your account is suspended and is not permitted to access this feature.'],
  89: [401, 'Invalid or expired token.'],
  99: [403, 'Unable to verify your credentials.'],
  220: [403, 'Your credentials do not allow access to this resource.'],
  261: [403, 'Application cannot perform write actions.'],
  326: [403, 'To protect our users from spam, this account is temporarily locked.'],
  416: [401, 'Invalid / suspended application.'],
  453: [403, 'You currently have access to a subset of endpoints only.'],
} as const;

type Authentication =
  | { readonly name: string }
  | { readonly status: number; readonly errorCode: number; readonly message: string; readonly name?: string };

/** Recognizes the client of a request. `serverNowMs`: the time with which OAuth timestamps are compared. */
export type Authenticate = (
  request: Omit<SignedRequest, 'authorization'> & { readonly authorization: string | undefined },
  serverNowMs: number,
) => Authentication;

/** Maximum difference between an OAuth timestamp and the service's clock, in seconds. */
const timestampToleranceS = 300;

export interface AuthenticationOptions {
  /** The accepted credentials. Undefined: any well-formed OAuth signature. */
  readonly credentials: readonly FollowersCredential[] | undefined;
  readonly anyBearer: boolean;
}

/** Creates a function that checks Authorization headers. It numbers unverified clients in order of appearance. */
export function createAuthentication({ credentials, anyBearer }: AuthenticationOptions): Authenticate {
  const names = credentials?.map(({ name }) => name) ?? [];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new SandboxOptionError(`Two credentials are named "${twice}"; give each its own name.`);
  const nonces = createNonceLog();
  const bearers = namesByOrder('bearer', names);
  const strangers = namesByOrder('oauth', names);

  return (request, serverNowMs) => {
    const found = recognized(request, serverNowMs);
    const code = credentials?.find(({ name }) => name === found.name)?.refusedWith;
    if ('errorCode' in found || code === undefined) return found;
    const [status, message] = refusals[code];
    return { status, errorCode: code, message, name: found.name };
  };

  function recognized(request: Parameters<Authenticate>[0], serverNowMs: number): Authentication {
    const authorization = request.authorization ?? '';
    const [, bearer] = /^Bearer\s+(\S+)\s*$/iu.exec(authorization) ?? [];
    if (bearer !== undefined) {
      const name = nameOfBearer(credentials ?? [], bearer) ?? (anyBearer ? bearers(bearer) : undefined);
      return name === undefined ? { status: 401, errorCode: 89, message: 'Invalid or expired token.' } : { name };
    }
    const oauth = parseOAuthHeader(authorization);
    if (oauth === undefined) return { status: 400, errorCode: 215, message: 'Bad Authentication data.' };
    const consumerKey = oauth.get('oauth_consumer_key') ?? '';
    // An empty oauth_token means the same as none (RFC 5849, section 3.1).
    const token = oauth.get('oauth_token') ?? '';
    const consumers = (credentials ?? []).flatMap((each) =>
      'oauth1' in each && each.oauth1.consumerKey === consumerKey ? [{ name: each.name, ...each.oauth1 }] : [],
    );
    const isNobody = credentials === undefined ? !isWellFormed(oauth) : consumers.length === 0;
    if (isNobody) return { status: 401, errorCode: 32, message: 'Could not authenticate you.' };
    const consumer = consumers.find((each) => (each.token ?? '') === token);
    if (credentials !== undefined && consumer === undefined) return { status: 401, errorCode: 89, message: 'Invalid or expired token.' };
    const name = consumer?.name ?? strangers(JSON.stringify([consumerKey, token]));
    const version = oauth.get('oauth_version');
    const isSigned = consumer === undefined || hasValidSignature({ ...request, authorization }, consumer);
    if ((version !== undefined && version !== '1.0') || !isSigned) {
      return { status: 401, errorCode: 32, message: 'Could not authenticate you.', name };
    }
    const timestamp = oauth.get('oauth_timestamp') ?? '';
    if (!/^\d{1,15}$/u.test(timestamp) || Math.abs(Number(timestamp) - serverNowMs / 1000) > timestampToleranceS) {
      return { status: 401, errorCode: 135, message: 'Timestamp out of bounds.', name };
    }
    const nonce = oauth.get('oauth_nonce') ?? '';
    if (nonce === '' || !nonces.isNew(`${name} ${timestamp} ${nonce}`, Number(timestamp), serverNowMs / 1000)) {
      return { status: 401, errorCode: 32, message: 'Could not authenticate you: the nonce is missing or was used before.', name };
    }
    return { name };
  }
}

function nameOfBearer(credentials: readonly FollowersCredential[], bearer: string): string | undefined {
  return credentials.find((each) => 'bearer' in each && each.bearer === bearer)?.name;
}

/** Returns a function that names each new secret `<kind> <n>`, in order of appearance. It skips names that are taken. */
function namesByOrder(kind: string, taken: readonly string[]): (secret: string) => string {
  const seen = new Map<string, string>();
  let last = 0;
  return (secret) => {
    const digest = createHash('sha256').update(secret).digest('base64');
    const known = seen.get(digest);
    if (known !== undefined) return known;
    do last += 1;
    while (taken.includes(`${kind} ${last}`));
    const name = `${kind} ${last}`;
    seen.set(digest, name);
    return name;
  };
}

function createNonceLog(): { isNew(key: string, timestampS: number, nowS: number): boolean } {
  const used = new Map<string, number>();
  let prunedS = 0;
  return {
    isNew(key, timestampS, nowS) {
      // A nonce older than the tolerance is already refused because of its timestamp.
      if (Math.abs(nowS - prunedS) > timestampToleranceS) {
        for (const [old, usedS] of used) if (Math.abs(nowS - usedS) > timestampToleranceS) used.delete(old);
        prunedS = nowS;
      }
      if (used.has(key)) return false;
      used.set(key, timestampS);
      return true;
    },
  };
}
