export interface SharedSecretOptions {
  /** The credential that signed. */
  readonly credential: string;
  /** What came of it: the value of the header. */
  readonly authorization: string;
  /** Signs the same request with another credential. */
  readonly signedBy: (credential: string) => string;
}

/** Remembers with what each credential signed last, and gives the name of another that signs with the same secret; undefined where none does. */
export type SharedSecret = (options: SharedSecretOptions) => string | undefined;

/**
 * Finds credentials of one source that share a secret: to the service they are one, with one budget, and a budget each would overrun it. Secrets
 * may rotate, so they are compared whenever one signs. A signer whose header has nothing that stays can't be compared.
 */
export function sharedSecret(): SharedSecret {
  const last = new Map<string, string>();
  return ({ credential, authorization, signedBy }) => {
    const own = secretIn(authorization);
    last.set(credential, own);
    for (const [other, before] of last) {
      if (other === credential || before !== own) continue;
      // It may have got a new one since.
      const now = attempted(() => secretIn(signedBy(other)));
      if (now === undefined) last.delete(other);
      else last.set(other, now);
      if (now === own) return other;
    }
    return undefined;
  };
}

/** Undefined where it throws: a signer without a secret shares none. */
function attempted(sign: () => string): string | undefined {
  try {
    return sign();
  } catch {
    return undefined;
  }
}

/** What stays the same from request to request: of OAuth 1.0a its two keys (RFC 5849, section 3.5.1), of others the whole. */
function secretIn(authorization: string): string {
  if (!/^oauth\s/i.test(authorization)) return authorization;
  return ['oauth_consumer_key', 'oauth_token'].map((name) => new RegExp(`\\b${name}="([^"]*)"`).exec(authorization)?.[1] ?? '').join(' ');
}
