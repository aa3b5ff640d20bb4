import { jsonKind } from '@headgate/sources';

/** Writes and reads values by one schema. */
export interface Codec {
  /** The language of the schema, as registries call it. */
  readonly type: 'AVRO' | 'PROTOBUF' | 'JSON';
  /** The schema as text, as a registry keeps it. */
  readonly schema: string;
  /** The first place at which a value doesn't fit, such as `$.user.id: expected a string, got null`; undefined if it fits. Contains no value. */
  flaw(value: unknown): string | undefined;
  /** Serializes a value. Throws a `TypeError` with the flaw if it doesn't fit. */
  encode(value: unknown): Uint8Array;
  /** The value as JSON, with integers exact to the digit. */
  decode(bytes: Uint8Array): string;
}

// TypeScript doesn't declare these yet. Node 22 has them.
const { isRawJSON, rawJSON } = JSON as unknown as {
  readonly isRawJSON: (this: void, value: unknown) => value is { readonly rawJSON: string };
  readonly rawJSON: (this: void, text: string) => unknown;
};

/** A copy of a value in which a long number of a response is a bigint if it is an integer that a JavaScript number can't keep. */
export function exact(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  if (isRawJSON(value)) {
    const number = Number(value.rawJSON);
    return Number.isInteger(number) && !Number.isSafeInteger(number) && /^-?\d+$/.test(value.rawJSON) ? BigInt(value.rawJSON) : number;
  }
  if (Array.isArray(value)) return value.map(exact);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, exact(one)]));
}

/** The integer of a number, by its digits in JSON. Undefined for anything else. */
export function integerIn(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  return typeof value === 'number' && /^-?\d+$/.test(String(value)) ? BigInt(String(value)) : undefined;
}

/** JSON of a value that can have bigints, which become numbers with all their digits. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? rawJSON(String(one)) : one));
}

/** The place at a path of names and indices: `$.users[0].id`. */
export function placeOf(path: readonly (string | number)[]): string {
  return ['$', ...path.map((part) => (/^\d+$/.test(String(part)) ? `[${part}]` : `.${part}`))].join('');
}

/** Says that a value doesn't fit. `expected`: such as `a string`. */
export function flawWords(place: string, expected: string, got: unknown): string {
  return `${place}: expected ${expected}, got ${typeof got === 'bigint' ? 'a number' : jsonKind(got)}`;
}

/** The word with its article. */
export function withArticle(word: string): string {
  return `${/^[aeiou]/i.test(word) ? 'an' : 'a'} ${word}`;
}
