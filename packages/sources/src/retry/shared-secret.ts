/**
 * Finds credentials of one source that share a secret. The service counts them as one, so a budget for each would overrun its limit.
 * Secrets can rotate, so they are compared whenever a credential signs. A signer whose values all change can't be compared.
 */
export class SharedSecrets {
  readonly #last = new Map<string, string>();

  /**
   * Returns the name of another credential whose last secret is the same, even if the source no longer uses it; undefined if there is none.
   * Otherwise, remembers this credential's secret. `secrets`: the values that the credential's signer added. `isRetired`: returns true for a
   * credential that the source no longer uses. `signedBy`: signs the same request with another credential.
   */
  async sharedWith(
    credential: string,
    secrets: readonly string[],
    isRetired: (credential: string) => boolean,
    signedBy: (credential: string) => readonly string[] | Promise<readonly string[]>,
  ): Promise<string | undefined> {
    const own = lastingSecret(secrets);
    this.#last.set(credential, own);
    for (const [other, before] of this.#last) {
      if (other === credential || before !== own) continue;
      // The other credential's secret may have changed since its last request.
      const now = isRetired(other) ? before : await attempted(async () => lastingSecret(await signedBy(other)));
      if (now === own) {
        this.#last.delete(credential);
        return other;
      }
      if (now === undefined) this.#last.delete(other);
      else this.#last.set(other, now);
    }
    return undefined;
  }
}

/** Returns undefined if signing fails: a signer without a secret shares none. */
async function attempted(sign: () => Promise<string>): Promise<string | undefined> {
  try {
    return await sign();
  } catch {
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
