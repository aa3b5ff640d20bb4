import { asBuffer, isTextHeaders, mapHeaders } from '../record-fields.ts';
import type { NewRecord, TopicRecord } from '../topic-log.ts';

/** Headers as stored in their column: a JSON object, with bytes as `{"base64":"…"}`; null for none. */
export function headersJson(headers: NewRecord['headers']): string | null {
  if (headers === undefined || Object.keys(headers).length === 0) return null;
  if (isTextHeaders(headers)) return JSON.stringify(headers);
  return JSON.stringify(
    mapHeaders(headers, (value) => (typeof value === 'string' ? value : { base64: asBuffer(value).toString('base64') })),
  );
}

export function parsedHeaders(json: string | null): TopicRecord<string | Uint8Array>['headers'] {
  if (json === null) return NO_HEADERS;
  const headers = JSON.parse(json) as Readonly<Record<string, string | { readonly base64: string }>>;
  if (isTextHeaders(headers)) return headers;
  return mapHeaders(headers, (value) => (typeof value === 'string' ? value : Buffer.from(value.base64, 'base64')));
}

const NO_HEADERS: Readonly<Record<string, never>> = Object.freeze({});
