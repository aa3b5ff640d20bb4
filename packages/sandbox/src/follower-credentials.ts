import { createHash } from 'node:crypto';

import { hasValidSignature, parseOAuthHeader } from './oauth-verify.ts';
import type { SignedRequest } from './oauth-verify.ts';
import { SandboxOptionError } from './sandbox-option-error.ts';

/** Something the followers service knows a client by; every one has windows of its own. */
export type FollowersCredential =
  | { readonly name: string; readonly bearer: string }
  | {
      readonly name: string;
      readonly oauth1: {
        readonly consumerKey: string;
        readonly consumerSecret: string;
        /** Default: requests come without a token. */
        readonly token?: string;
        readonly tokenSecret?: string;
      };
    };

/** Who asks, or the status and error code of the refusal. */
type Authentication =
  | { readonly name: string }
  | { readonly status: number; readonly errorCode: number; readonly message: string; readonly name?: string };

/** Recognises clients; `serverNowMs` is the clock OAuth timestamps are judged by. */
export type Authenticate = (
  request: Omit<SignedRequest, 'authorization'> & { readonly authorization: string | undefined },
  serverNowMs: number,
) => Authentication;

/** How far an OAuth timestamp may be off, either way. */
const timestampToleranceS = 300;

/** Makes the check of Authorization headers: of the credentials given, or of any bearer token, each named by its order of appearance. */
export function createAuthentication(credentials: readonly FollowersCredential[] | undefined): Authenticate {
  const names = credentials?.map(({ name }) => name) ?? [];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new SandboxOptionError(`Two credentials are called "${twice}"; give each a name of its own.`);
  const nonces = createNonceLog();
  const seenBearers = new Map<string, string>();

  return (request, serverNowMs) => {
    const authorization = request.authorization ?? '';
    const [, bearer] = /^Bearer\s+(\S+)\s*$/iu.exec(authorization) ?? [];
    if (bearer !== undefined) {
      const name = credentials === undefined ? nameByOrder(seenBearers, bearer) : nameOfBearer(credentials, bearer);
      return name === undefined ? { status: 401, errorCode: 89, message: 'Invalid or expired token.' } : { name };
    }
    const oauth = parseOAuthHeader(authorization);
    if (oauth === undefined) return { status: 400, errorCode: 215, message: 'Bad Authentication data.' };
    const consumers = (credentials ?? []).flatMap((each) =>
      'oauth1' in each && each.oauth1.consumerKey === oauth.get('oauth_consumer_key') ? [{ name: each.name, ...each.oauth1 }] : [],
    );
    if (consumers.length === 0) return { status: 401, errorCode: 32, message: 'Could not authenticate you.' };
    // An empty oauth_token means the same as none (RFC 5849, section 3.1).
    const consumer = consumers.find(({ token }) => (token ?? '') === (oauth.get('oauth_token') ?? ''));
    if (consumer === undefined) return { status: 401, errorCode: 89, message: 'Invalid or expired token.' };
    const { name } = consumer;
    const version = oauth.get('oauth_version');
    if ((version !== undefined && version !== '1.0') || !hasValidSignature({ ...request, authorization }, consumer)) {
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
  };
}

function nameOfBearer(credentials: readonly FollowersCredential[], bearer: string): string | undefined {
  return credentials.find((each) => 'bearer' in each && each.bearer === bearer)?.name;
}

function nameByOrder(seen: Map<string, string>, secret: string): string {
  const digest = createHash('sha256').update(secret).digest('base64');
  const name = seen.get(digest) ?? `bearer ${seen.size + 1}`;
  seen.set(digest, name);
  return name;
}

function createNonceLog(): { isNew(key: string, timestampS: number, nowS: number): boolean } {
  const used = new Map<string, number>();
  let prunedS = 0;
  return {
    isNew(key, timestampS, nowS) {
      // What is older than the tolerance is refused by its timestamp already.
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
