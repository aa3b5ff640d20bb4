import type { HttpResponse } from '@headgate/sources';
import * as z from 'zod';
import { type Path, path } from './path.ts';

// Places of values in requests and responses.

export const fieldName = z.string().regex(/^[A-Za-z_]\w*$/, "isn't a field name. Write letters, digits and underscores.");
export const headerName = z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, "isn't a header name.");

/** True for the address of a service, with its scheme. */
export function isHttp(address: string): boolean {
  return /^https?:$/.test(URL.parse(address)?.protocol ?? '');
}

/** A path of names in a JSON body, such as `$.page.cursor`. */
const member = z
  .string()
  .regex(
    /^(?:\$\.)?[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*$/,
    "isn't a path in a body. Write names separated by dots, such as $.page.cursor.",
  )
  .transform((text): readonly string[] => text.replace(/^\$\./, '').split('.'));

/** The settings of a place in a request, of which one must be set. */
export const placeSettings = {
  query: z.string().min(1).exactOptional().describe('Name of the query parameter.'),
  header: headerName.exactOptional().describe('Name of the header.'),
  body: member.exactOptional().describe('Path in the JSON body.'),
  field: fieldName.exactOptional().describe('Placeholder in the path, `query`, `headers` or `body`: `page` for `{page}`.'),
};

/** A place in a request. */
export const place = z
  .strictObject(placeSettings)
  .refine((given) => Object.keys(given).length === 1, 'needs one place: query, header, body or field.')
  .meta({ examples: [{ query: 'cursor' }] });
export type Place = z.output<typeof place>;

const inHeader = z.strictObject({ header: headerName });
/** A place of one value in a response: a path in the body, or a header. */
export const given = z.union([path({ singular: true }), inHeader]);
/** A place like `given`, but its path can select several values. Only the first of them is used. */
export const said = z.union([path(), inHeader]);
export type Said = Path | { readonly header: string };

export function saidAt(place: Said, { headers }: Pick<HttpResponse, 'headers'>, body: () => unknown): unknown {
  return 'header' in place ? headers[place.header.toLowerCase()] : place.first(body());
}
