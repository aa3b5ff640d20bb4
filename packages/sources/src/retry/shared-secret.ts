/**
 * Finds credentials of one source that share a secret. The service counts them as one, so a budget for each would overrun its limit.
 * Secrets can rotate, so they are compared whenever a credential signs. A signer whose values all change can't be compared.
 */
export class SharedSecrets {
  readonly #last = new Map<string, string>();

  /**
   * Returns the name of another credential that last signed with the same secret, even if the source no longer uses it. If there is none,
   * remembers this credential's secret, and returns undefined. `secret`: the lasting part of the credential's secret.
   */
  sharedWith(credential: string, secret: string): string | undefined {
    this.#last.delete(credential);
    for (const [other, last] of this.#last) if (last === secret) return other;
    this.#last.set(credential, secret);
    return undefined;
  }
}

/**
 * Returns the part of a secret that stays the same from request to request: the two keys of OAuth 1.0a (RFC 5849, section 3.5.1), or the
 * whole secret of any other kind.
 */
export function lastingSecret(secrets: readonly string[]): string {
  return secrets
    .map((value) => {
      if (!/^oauth\s/i.test(value)) return value;
      return ['oauth_consumer_key', 'oauth_token'].map((name) => new RegExp(`\\b${name}="([^"]*)"`).exec(value)?.[1] ?? '').join(' ');
    })
    .join('\n');
}
