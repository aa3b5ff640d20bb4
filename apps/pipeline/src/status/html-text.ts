import { safeText } from './text/safe-text.ts';

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Text as HTML shows it, in an element or a quoted attribute, whatever it holds. */
export function htmlText(text: string): string {
  return safeText(text, 1000).replace(/[&<>"']/g, (character) => entities[character] ?? '');
}
