const LATEST_MS = 8.64e15;

/** When a JSON web token expires (RFC 7519, section 4.1.4), ms since the epoch; undefined where it doesn't say, or is none. Nothing is verified. */
export function tokenExpiryMs(token: string): number | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    if (typeof claims !== 'object' || claims === null || !('exp' in claims) || typeof claims.exp !== 'number') return undefined;
    const expiryMs = claims.exp * 1000;
    return Math.abs(expiryMs) <= LATEST_MS ? expiryMs : undefined;
  } catch {
    return undefined;
  }
}
