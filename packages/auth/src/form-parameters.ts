export type FormParameter = readonly [name: string, value: string];

/**
 * Decodes `application/x-www-form-urlencoded` text into its parameters, in order, including repeated names and empty values.
 *
 * Like other form parsers, it reads `+` as a space, and keeps a percent sign that escapes nothing (RFC 5849, section 3.4.1.3.1).
 *
 * @throws TypeError when the escaped bytes aren't UTF-8.
 */
export function formParameters(text: string): FormParameter[] {
  return text
    .split('&')
    .filter((part) => part !== '')
    .map((part) => {
      const equals = part.indexOf('=');
      return equals === -1 ? [decoded(part), ''] : [decoded(part.slice(0, equals)), decoded(part.slice(equals + 1))];
    });
}

function decoded(text: string): string {
  return text.replaceAll('+', ' ').replaceAll(/(?:%[0-9a-f]{2})+/gi, (escapes) => utf8(Buffer.from(escapes.replaceAll('%', ''), 'hex')));
}

function utf8(octets: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(octets);
}
