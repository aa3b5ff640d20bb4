/** Percent-encodes all but RFC 3986's unreserved characters (section 2.3). Throws a `URIError` for half a surrogate pair. */
export function percentEncoded(text: string): string {
  if (/^[\w.~-]*$/.test(text)) return text;
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
