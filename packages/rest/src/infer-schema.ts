import * as z from 'zod';
import { scalarOf } from './json-value.ts';

/** A JSON Schema that some records fit, and what it says beyond them. */
export interface InferredSchema {
  /** The schema, without a title. */
  readonly schema: object;
  /** What the records don't prove, one guess each. Contain names of members, and no values. */
  readonly guesses: readonly string[];
}

/**
 * Proposes the JSON Schema of a stream's records. A member that some records lack is optional; a text has a format if all texts there have it; a value
 * that was always null can be anything. Permits further members, and guesses neither enums nor limits.
 */
export function inferredSchema(records: readonly unknown[]): InferredSchema {
  const root = new Place('$', textFormats());
  for (const record of records) root.add(record);
  const byGuess = Map.groupBy(root.guesses(), ([guess]) => guess);
  return { schema: root.schema(), guesses: Array.from(byGuess, ([guess, of]) => `${guess}: ${of.map(([, where]) => where).join(', ')}`) };
}

type Kind = 'null' | 'boolean' | 'integer' | 'number' | 'string' | 'object' | 'array';
type Guess = readonly [guess: string, where: string];

/** A format of texts. */
interface Format {
  readonly name: string;
  readonly fits: (text: string) => boolean;
}

/** The formats that a text can have, as a stream's `schema` checks them. An address has to be one of HTTP, because `note:x` is a URI, too. */
function textFormats(): readonly Format[] {
  return (['date-time', 'date', 'uuid', 'email', 'uri'] as const).map((name) => {
    const schema = z.fromJSONSchema({ type: 'string', format: name });
    return { name, fits: (text) => (name !== 'uri' || /^https?:/.test(text)) && schema.safeParse(text).success };
  });
}

/** The values of all records at one path. */
class Place {
  readonly #path: string;
  readonly #allFormats: readonly Format[];
  /** The formats that all texts have. */
  #formats: readonly Format[];
  readonly #kinds = new Map<Kind, number>();
  readonly #members = new Map<string, Place>();
  #entries: Place | undefined;
  /** The least and the greatest integer. */
  #range: readonly [least: bigint, most: bigint] = [0n, 0n];

  constructor(path: string, formats: readonly Format[]) {
    this.#path = path;
    this.#allFormats = formats;
    this.#formats = formats;
  }

  get count(): number {
    return this.#kinds.values().reduce((sum, count) => sum + count, 0);
  }

  add(value: unknown): void {
    const kind = kindOf(value);
    this.#kinds.set(kind, (this.#kinds.get(kind) ?? 0) + 1);
    if (kind === 'integer') {
      const [least, most] = this.#range;
      const integer = BigInt(String(scalarOf(value)));
      this.#range = [integer < least ? integer : least, integer > most ? integer : most];
    } else if (kind === 'string') {
      const text = value as string;
      this.#formats = this.#formats.filter(({ fits }) => fits(text));
    } else if (kind === 'array') {
      this.#entries ??= new Place(`${this.#path}[*]`, this.#allFormats);
      for (const entry of value as readonly unknown[]) this.#entries.add(entry);
    } else if (kind === 'object') {
      for (const [name, member] of Object.entries(value as object)) this.#memberAt(name).add(member);
    }
  }

  #memberAt(name: string): Place {
    const known = this.#members.get(name);
    if (known !== undefined) return known;
    const path = /^[A-Za-z_]\w*$/.test(name) ? `${this.#path}.${name}` : `${this.#path}[${JSON.stringify(name)}]`;
    const member = new Place(path, this.#allFormats);
    this.#members.set(name, member);
    return member;
  }

  /** The kinds of the values that aren't null. An integer is a number, too. */
  #valueKinds(): readonly Kind[] {
    return [...this.#kinds.keys()].filter((kind) => kind !== 'null' && (kind !== 'integer' || !this.#kinds.has('number')));
  }

  schema(): object {
    const kinds = this.#valueKinds();
    const [first, ...others] = kinds.map((kind) => this.#schemaOf(kind));
    if (first === undefined) return {};
    if (!this.#kinds.has('null')) return others.length === 0 ? first : { anyOf: [first, ...others] };
    const isPlain = others.length === 0 && kinds[0] !== 'object' && kinds[0] !== 'array';
    return isPlain ? { ...first, type: [kinds[0], 'null'] } : { anyOf: [first, ...others, { type: 'null' }] };
  }

  #schemaOf(type: Kind): object {
    const format = type === 'string' ? this.#formats[0]?.name : type === 'integer' ? this.#width() : undefined;
    if (type === 'array') return { type, items: this.#entries?.schema() ?? {} };
    if (type !== 'object') return { type, ...(format !== undefined && { format }) };
    const required = [...this.#members].filter(([, member]) => member.count === this.#kinds.get('object')).map(([name]) => name);
    const properties = Object.fromEntries(Array.from(this.#members, ([name, member]) => [name, member.schema()]));
    return { type, properties, ...(required.length > 0 && { required }) };
  }

  /** The format of integers that a JavaScript number can't hold. Undefined for shorter ones, and for those that 64 bits can't hold. */
  #width(): 'int64' | 'uint64' | undefined {
    const [least, most] = this.#range;
    if (!this.#isWide()) return undefined;
    if (least >= -(2n ** 63n) && most < 2n ** 63n) return 'int64';
    return least >= 0n && most < 2n ** 64n ? 'uint64' : undefined;
  }

  #isWide(): boolean {
    const [least, most] = this.#range;
    return least < Number.MIN_SAFE_INTEGER || most > Number.MAX_SAFE_INTEGER;
  }

  *guesses(): Generator<Guess> {
    const kinds = this.#valueKinds();
    const format = this.#formats[0]?.name;
    if (kinds.length === 0) yield ['always null or never there, so any value fits', this.#path];
    if (kinds.length > 1) yield ['values of several kinds', `${this.#path} (${kinds.join(', ')})`];
    if (kinds.includes('string') && format !== undefined) yield [`format ${format}, as all of these texts have it`, this.#path];
    if (kinds.includes('integer') && this.#isWide())
      yield [`${this.#width() ?? 'more than 64 bits'}: integers that a JavaScript number can't hold`, this.#path];
    for (const member of this.#members.values()) {
      const objects = this.#kinds.get('object') ?? 0;
      if (member.count < objects) yield ['optional, as some lack it', `${member.#path} (${objects - member.count} of ${objects})`];
      yield* member.guesses();
    }
    if (this.#entries !== undefined) yield* this.#entries.guesses();
  }
}

function kindOf(value: unknown): Kind {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'string') return 'string';
  // Long numbers are objects, so that they keep their digits.
  const number = scalarOf(value);
  if (number === undefined) return 'object';
  return /^-?\d+$/.test(String(number)) ? 'integer' : 'number';
}
