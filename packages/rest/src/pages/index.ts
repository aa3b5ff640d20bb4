import * as z from 'zod';
import { placeSettings, said } from '../places.ts';
import { cursor } from './cursor.ts';
import { link } from './link.ts';
import { next } from './next.ts';
import { offset } from './offset.ts';
import { page } from './page.ts';
import type { Style, StyleDefinition } from './style.ts';

export { type Following, type Found, LAST, type NextAt, type Style, countOf } from './style.ts';

/** The styles of paging. The setting of that name chooses one. */
const STYLES = { cursor, next, link, page, offset };
type StyleName = keyof typeof STYLES;

const size = z
  .strictObject({ ...placeSettings, is: z.int().positive().describe('Records per page.') })
  .refine((given) => Object.keys(given).length === 2, 'needs one place: query, header, body or field.')
  .meta({ examples: [{ query: 'limit', is: 100 }] })
  .exactOptional()
  .describe('Requested page size.');

/** Settings of every style, and of a stream that only sets a page size. */
const settings = {
  ...optional(cursor.settings),
  ...optional(next.settings),
  ...optional(link.settings),
  ...optional(page.settings),
  ...optional(offset.settings),
  while: said
    .exactOptional()
    .describe(
      'Path or header of a value that is true if more pages follow: anything except null, false, no, 0, an empty text or an empty list.',
    ),
  until: said.exactOptional().describe('Path or header of a value that is true on the last page.'),
  most: z.int().positive().exactOptional().describe('Maximum pages that the service returns for one listing.'),
  short: z.literal('last').exactOptional().describe('`last`: a page with fewer records than its size is the last one.'),
  repeats: z
    .enum(['drop', 'end'])
    .exactOptional()
    .describe(
      '`drop`: omit records that the previous page has, too. `end`: the same, and a page whose records all came before ends the listing.',
    ),
  size,
};

export const pages = z
  .strictObject(settings)
  .superRefine((given, context) => {
    const refuse = (message: string, ...path: string[]): void => context.addIssue({ code: 'custom', path, message });
    const chosen = stylesOf(given);
    if (chosen.length > 1) refuse(`has ${chosen.join(' and ')}. Keep one of them.`);
    if (chosen.length === 0 && Object.keys(given).some((key) => key !== 'size'))
      refuse(`doesn't say how to get the next page. Add ${NAMES.slice(0, -1).join(', ')} or ${NAMES.at(-1)}.`);
    for (const key of Object.keys(given)) {
      const of = NAMES.filter((name) => key in STYLES[name].settings);
      if (of.length > 0 && !chosen.some((name) => of.includes(name))) refuse(`belongs to ${of.join(' or ')}.`, key);
    }
    for (const name of chosen) {
      const flaw = STYLES[name].flaw?.(given);
      if (flaw !== undefined) refuse(flaw.message, flaw.at);
    }
    if (given.short !== undefined && given.size === undefined)
      refuse('needs the size of a page. Add size: { query: limit, is: 100 }.', 'short');
  })
  .transform((given) => ({ ...given, style: styleOf(given) }));

const NAMES = Object.keys(STYLES) as StyleName[];
type Given = z.output<z.ZodObject<typeof settings>>;

function stylesOf(given: Given): readonly StyleName[] {
  return NAMES.filter((name) => given[name] !== undefined);
}

function styleOf(given: Given): Style | undefined {
  const [name] = stylesOf(given);
  if (name === undefined) return undefined;
  // The checks above have refused settings that the style requires and lacks.
  const { style } = STYLES[name] as unknown as StyleDefinition<z.ZodRawShape>;
  return { name, ...style(given) };
}

function optional<Settings extends z.ZodRawShape>(of: Settings): { [Key in keyof Settings]: z.ZodExactOptional<Settings[Key]> } {
  const entries = Object.entries(of).map(([key, schema]) => [key, z.exactOptional(schema)]);
  return Object.fromEntries(entries) as { [Key in keyof Settings]: z.ZodExactOptional<Settings[Key]> };
}
