/** Controls that JSON leaves as they are and some terminals obey, and the marks that turn the writing direction. */
const controls = /[\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/g;

/** JSON text that means the same and shows nothing a terminal would obey: what JSON lets stand raw within strings is escaped. */
export function escapedControls(json: string): string {
  return json.replace(controls, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
