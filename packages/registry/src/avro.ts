import type * as avsc from 'avsc';
import type { Schema, Type } from 'avsc';
import { type Codec, exact, flawWords, integerIn, jsonText, placeOf, withArticle } from './codec.ts';
import { required } from './required.ts';

/**
 * Writes and reads Avro by a schema as JSON text. A value has the form of JSON: a union takes a value without the name of its branch, so each kind of
 * JSON may belong to one branch only. A missing member gets its default. Members that the schema lacks aren't written. Throws an `Error` if the schema isn't
 * valid, or if avsc isn't installed.
 */
export function avroCodec(schema: string): Codec {
  const type = typeOf(schema);
  const flawOf = (value: unknown): string | undefined => {
    let flaw: string | undefined;
    type.isValid(value, { errorHook: (path, got, at) => (flaw ??= flawWords(placeOf(path), wordsOf(at), got)) });
    return flaw;
  };
  return {
    type: 'AVRO',
    schema,
    flaw: (value) => flawOf(exact(value)),
    encode(value) {
      const given = exact(value);
      try {
        return type.toBuffer(given);
      } catch (cause) {
        throw new TypeError(flawOf(given) ?? "a value can't be written as Avro", { cause });
      }
    },
    decode: (bytes) => jsonText(type.fromBuffer(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))),
  };
}

function typeOf(schema: string): Type {
  const { Type, types } = required('avsc') as typeof avsc;
  // Refuses a union with two branches for one kind of JSON. The types below would only find it at a value.
  Type.forSchema(JSON.parse(schema) as Schema, { wrapUnions: 'never' } as object);
  // avsc refuses a long that a JavaScript number can't keep.
  const long = types.LongType.__with({
    fromBuffer: (bytes: Buffer) => narrowed(bytes.readBigInt64LE()),
    toBuffer(value: number | bigint) {
      const bytes = Buffer.alloc(8);
      bytes.writeBigInt64LE(integerIn(value) ?? 0n);
      return bytes;
    },
    fromJSON: BigInt,
    toJSON: Number,
    isValid(value: unknown) {
      const integer = integerIn(value);
      return integer !== undefined && BigInt.asIntN(64, integer) === integer;
    },
    compare: (one: bigint, other: bigint) => (one < other ? -1 : Number(one > other)),
  });
  // avsc takes a list as a record whose members all have defaults.
  class NoList extends types.LogicalType {
    protected override _fromValue(value: unknown): unknown {
      return value;
    }
    protected override _toValue(value: unknown): unknown {
      return Array.isArray(value) ? undefined : value;
    }
  }
  const marked = JSON.parse(schema, (_, one: unknown) =>
    Object(one).type === 'record' ? { ...Object(one), logicalType: NO_LIST } : one,
  ) as Schema;
  return Type.forSchema(marked, { registry: { long }, logicalTypes: { [NO_LIST]: NoList }, wrapUnions: 'never' } as object);
}

const NO_LIST = 'no-list';

function narrowed(value: bigint): number | bigint {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

interface AnyType {
  readonly symbols?: readonly string[];
  readonly types?: readonly Type[];
  readonly underlyingType?: Type;
}

/** What a type takes, for a flaw. */
function wordsOf(type: Type): string {
  const { typeName, symbols, types, underlyingType } = type as Type & AnyType;
  if (underlyingType !== undefined) return wordsOf(underlyingType);
  if (types !== undefined) return types.map(wordsOf).join(' or ');
  if (symbols !== undefined) return `one of ${symbols.join(', ')}`;
  const word = typeName.replace(/^.*:/, '');
  return word === 'null' ? word : withArticle(word);
}
