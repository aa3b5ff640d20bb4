export interface UnsecuredTokenOptions {
  readonly subject: string;
  /** Time from now to the expiry; negative for a token that has expired. */
  readonly lifetimeMs: number;
}

/** A JSON web token without a signature (RFC 7515, appendix A.5), which the brokers of these tests accept. */
export function unsecuredToken({ subject, lifetimeMs }: UnsecuredTokenOptions): string {
  const nowSeconds = Date.now() / 1000;
  const claims = { sub: subject, iat: nowSeconds - 3600, exp: nowSeconds + lifetimeMs / 1000 };
  return `${[{ alg: 'none' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`;
}
