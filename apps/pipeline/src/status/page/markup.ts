import { safeText } from '../text/safe-text.ts';

/** Text that is already HTML; only `markup` creates it. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | number | Html | readonly Html[];

/** HTML of a template. Every value that isn't HTML is shown as text, so it can't become a tag or an attribute. */
export function markup(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  const all = strings.flatMap((text, i) => {
    const value = values[i];
    return value === undefined ? [text] : [text, ...(Array.isArray(value) ? value : [value]).map(textOf)];
  });
  return new Html(all.join(''));
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function textOf(value: string | number | Html): string {
  if (value instanceof Html) return value.text;
  return safeText(String(value), 1_000).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
