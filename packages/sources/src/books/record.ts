/**
 * A book or author as the service sent it, untouched: which fields there are and their types vary from record to record.
 * A number that JavaScript can't spell back digit by digit is kept so that `JSON.stringify` gives it back as it came.
 */
export type BooksRecord = Readonly<Record<string, unknown>>;

/** Whether a value of a parsed answer is a JSON object. */
export function isRecord(value: unknown): value is BooksRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value);
}

/** Numbers kept as text by `JSON.rawJSON` are frozen objects without prototype and with this one key. */
function isRawNumber(value: object): boolean {
  return Object.isFrozen(value) && Object.getPrototypeOf(value) === null && 'rawJSON' in value;
}
