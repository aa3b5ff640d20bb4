/** Controls that JSON leaves as they are and some terminals obey, and the marks that turn the writing direction. */
const controls = /[\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/g;

/** Equivalent JSON text without terminal control characters: those that JSON permits unescaped in strings are escaped. */
export function escapedControls(json: string): string {
  return json.replace(controls, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
