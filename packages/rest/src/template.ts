import * as z from 'zod';
import { exactNumber } from './json-value.ts';

/** A text with placeholders, such as `/repos/{owner}/{repo}`. */
export interface Template {
  /** The template as the configuration contains it. */
  readonly text: string;
  /** The placeholders of the text, in order. */
  readonly fields: readonly Placeholder[];
  /** The text with all values filled in; undefined if a placeholder has none. `encode` is applied to each value. Default: no encoding. */
  render(valueOf: ValueOf, encode?: (text: string) => string): string | undefined;
  /** The value in its own type if the template is a single placeholder, a number or a boolean. Otherwise the text. */
  value(valueOf: ValueOf): unknown;
}

/** `{since:seconds}` is the placeholder `since` with the format `seconds`. */
export interface Placeholder {
  /** The field's name, or `since` or `until`. */
  readonly name: string;
  /** Format of a time. Undefined: a time is sent as it was written. */
  readonly format: string | undefined;
  /** True if the format or the text after the placeholder makes it a time in UTC, as in `{since}Z`. */
  readonly isUtc: boolean;
}

/** Returns the value of a placeholder; undefined if it has none. */
export type ValueOf = (placeholder: Placeholder) => string | number | boolean | readonly string[] | undefined;

const PLACEHOLDER = /\{\{|\}\}|\{([A-Za-z_]\w*)(?::([^{}]+))?\}|[{}]/g;

const UTC_AFTER = /^ ?(?:Z|UTC|GMT|\+00)/i;

const number = exactNumber({ abort: true });

/** The schema for a text with placeholders in braces, for a place that sends text. A literal brace is written twice. */
export function template(): z.ZodType<Template, string | number | boolean> {
  return templateIn(z.union([z.string(), number, z.boolean()]));
}

/** The same, for a place that sends JSON: in a file, an unquoted number or boolean is one. */
export function typedTemplate(): z.ZodType<Template, string | number | boolean> {
  return templateIn(z.union([number, z.boolean(), z.string()]));
}

function templateIn(schema: z.ZodType<string | number | boolean, string | number | boolean>): ReturnType<typeof template> {
  return schema.transform((given, context): Template => {
    if (typeof given !== 'string') return { text: String(given), fields: [], render: () => String(given), value: () => given };
    const parts: (string | Placeholder)[] = [];
    let end = 0;
    for (const match of given.matchAll(PLACEHOLDER)) {
      const [found, name, format] = match;
      parts.push(given.slice(end, match.index));
      end = match.index + found.length;
      if (name !== undefined) parts.push({ name, format, isUtc: UTC_AFTER.test(given.slice(end)) || /(?:Z|UTC|GMT)$/i.test(format ?? '') });
      else if (found.length === 2) parts.push(found.charAt(0));
      else {
        const message = `has a brace that isn't part of a placeholder, character ${match.index + 1}. Write {name}, or ${found}${found} for a brace of its own.`;
        context.addIssue({ code: 'custom', message });
        return z.NEVER;
      }
    }
    parts.push(given.slice(end));
    return templateOf(
      given,
      parts.filter((part) => part !== ''),
    );
  });
}

function templateOf(text: string, parts: readonly (string | Placeholder)[]): Template {
  const [first] = parts;
  const render: Template['render'] = (valueOf, encode = (value) => value) => {
    let rendered = '';
    for (const part of parts) {
      const value = typeof part === 'string' ? part : valueOf(part);
      if (value === undefined) return undefined;
      rendered += typeof part === 'string' ? part : encode(String(value));
    }
    return rendered;
  };
  return {
    text,
    fields: parts.filter((part) => typeof part !== 'string'),
    render,
    value: (valueOf) => (parts.length === 1 && first !== undefined && typeof first !== 'string' ? valueOf(first) : render(valueOf)),
  };
}

/** JSON whose texts are templates, such as a request body. Members without a value are omitted. */
export type JsonTemplate = Template | { readonly [name: string]: JsonTemplate } | readonly JsonTemplate[] | null;

/** The schema for a {@link JsonTemplate}. */
export function jsonTemplate(): z.ZodType<JsonTemplate> {
  const schema: z.ZodType<JsonTemplate> = z.lazy(() => z.union([z.null(), typedTemplate(), z.array(schema), z.record(z.string(), schema)]));
  return schema;
}

export function isTemplate(given: JsonTemplate): given is Template {
  return given !== null && 'render' in given && typeof given.render === 'function';
}

/** All placeholders of a JSON template. */
export function fieldsOf(given: JsonTemplate): readonly Placeholder[] {
  if (given === null) return [];
  return isTemplate(given) ? given.fields : Object.values(given as Readonly<Record<string, JsonTemplate>>).flatMap(fieldsOf);
}

/** The schema for a query parameter, which is repeated for each text of a list. */
export function parameter(): z.ZodType<Template | readonly Template[], string | number | boolean | (string | number | boolean)[]> {
  return z.union([template(), z.array(template())]);
}

/** The JSON with all values filled in; undefined if it is a template without a value. */
export function jsonOf(given: JsonTemplate, valueOf: ValueOf): unknown {
  if (given === null) return null;
  if (isTemplate(given)) return given.value(valueOf);
  if (Array.isArray(given)) return given.map((one: JsonTemplate) => jsonOf(one, valueOf)).filter((value) => value !== undefined);
  const values = Object.entries(given).map(([name, value]) => [name, jsonOf(value, valueOf)] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}
