/** Control characters that JSON doesn't escape but some terminals obey, and marks that change the writing direction. */
const controls = /[\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/g;

/** Escapes `controls` in JSON, so that a terminal can show the JSON. */
export function escapedControls(json: string): string {
  return json.replace(controls, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
