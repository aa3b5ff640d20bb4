import { createHmac } from 'node:crypto';
import OAuth from 'oauth-1.0a';
import type { SignedParts } from './signed-parts.ts';

/** The protocol parameters of a request, without its signature (RFC 5849, section 3.1). */
export type ProtocolParameters = Readonly<Record<string, string>>;

/** The shared secrets that sign a request (RFC 5849, section 3.4.2). */
export interface SharedSecrets {
  readonly consumerSecret: string;
  readonly tokenSecret: string;
}

/** Signs with HMAC-SHA1 and returns the value of the `Authorization` header (RFC 5849, sections 3.4.2 and 3.5.1). */
export function oauth1Header(parts: SignedParts, protocol: ProtocolParameters, secrets: SharedSecrets): string {
  const oauth = new StrictOAuth(secrets);
  const data = asData(protocol);
  const oauth_signature = oauth.getSignature(asRequest(parts), secrets.tokenSecret, data);
  return oauth.toHeader({ ...data, oauth_signature }).Authorization;
}

/** Returns the text that is signed (RFC 5849, section 3.4.1.1). */
export function oauth1BaseString(parts: SignedParts, protocol: ProtocolParameters): string {
  return new StrictOAuth({ consumerSecret: '', tokenSecret: '' }).getBaseString(asRequest(parts), asData(protocol));
}

/**
 * The class `OAuth` of the package `oauth-1.0a` with two methods replaced. The original methods lose a parameter named `__proto__`, and one
 * of them changes its input.
 */
class StrictOAuth extends OAuth {
  constructor({ consumerSecret }: SharedSecrets) {
    super({
      consumer: { key: '', secret: consumerSecret },
      signature_method: 'HMAC-SHA1',
      hash_function: (text, key) => createHmac('sha1', key).update(text).digest('base64'),
    });
  }

  override mergeObject<T, U>(first: T, second: U): T & U {
    return Object.assign(Object.create(null), first, second);
  }

  /** Called by `getParameterString` of the base class. The package's typings don't have this method. */
  percentEncodeData(data: Readonly<Record<string, string | readonly string[]>>): Record<string, string | string[]> {
    const encoded: Record<string, string | string[]> = Object.create(null);
    for (const [name, value] of Object.entries(data)) {
      encoded[this.percentEncode(name)] =
        typeof value === 'string' ? this.percentEncode(value) : value.map((one) => this.percentEncode(one));
    }
    return encoded;
  }
}

function asRequest({ method, url, parameters }: SignedParts): OAuth.RequestOptions {
  const data: Record<string, readonly string[]> = Object.create(null);
  for (const [name, values] of parameters) {
    data[name] = values;
  }
  return { method, url, data };
}

/**
 * The typings of `oauth-1.0a` require a numeric timestamp and every parameter, but its code encodes just the parameters that are present.
 */
function asData(protocol: ProtocolParameters): OAuth.Data {
  return protocol as unknown as OAuth.Data;
}
