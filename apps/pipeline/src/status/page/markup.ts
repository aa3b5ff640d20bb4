import { safeText } from '../text/safe-text.ts';

/** Text that is HTML already: `markup` makes it, and nothing else. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | number | Html | readonly Html[];

/** HTML of a template. Every value that is not HTML is shown as text: no tag and no attribute can come of it. */
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
