import { createHmac } from 'node:crypto';

/** A request in parts, so that this second implementation of OAuth 1.0 needs no parser. */
export interface PlainRequest {
  readonly method: string;
  readonly baseUrl: string;
  readonly parameters: readonly (readonly [name: string, value: string])[];
  readonly consumerSecret: string;
  readonly tokenSecret: string;
}

/** Returns the base string (RFC 5849, section 3.4.1.1), without code of this package. */
function independentBaseString({ method, baseUrl, parameters }: PlainRequest): string {
  const normalised = parameters
    .map(([name, value]) => [octetEncoded(name), octetEncoded(value)] as const)
    .toSorted(([name, value], [otherName, otherValue]) => byOctets(name, otherName) || byOctets(value, otherValue))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  return `${method.toUpperCase()}&${octetEncoded(baseUrl)}&${octetEncoded(normalised)}`;
}

export function independentSignature(request: PlainRequest): string {
  const key = `${octetEncoded(request.consumerSecret)}&${octetEncoded(request.tokenSecret)}`;
  return createHmac('sha1', Buffer.from(key, 'latin1'))
    .update(Buffer.from(independentBaseString(request), 'latin1'))
    .digest('base64');
}

/** Percent-encodes every octet except the unreserved ones (RFC 5849, section 3.6). */
export function octetEncoded(text: string): string {
  return [...new TextEncoder().encode(text)]
    .map((octet) => {
      const letter = String.fromCharCode(octet);
      return /[A-Za-z0-9._~-]/.test(letter) ? letter : `%${octet.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

function byOctets(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one, 'latin1'), Buffer.from(other, 'latin1'));
}
