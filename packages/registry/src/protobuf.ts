import type * as protobuf from 'protobufjs';
import type { Enum, Field, Namespace, Type } from 'protobufjs';
import { type Codec, exact, flawWords, integerIn, jsonText, placeOf, withArticle } from './codec.ts';
import { required } from './required.ts';

/**
 * Writes and reads the first message of a .proto file. A value has the form of JSON: names as in the file, integers as numbers or digits, bytes as
 * base64, enums by name. A field can be missing or null only if it is `optional`, repeated, a map, a message or in a oneof. Otherwise, readers
 * would see an empty value that nobody sent. Members that the message lacks aren't written. Throws an `Error` if the file isn't valid, imports others or
 * has no message, or if protobufjs isn't installed.
 */
export function protobufCodec(schema: string): Codec {
  const { parse, Reader } = required('protobufjs') as typeof protobuf;
  const { root, package: name, imports } = parse(schema, { keepCase: true });
  if (imports !== undefined && imports.length > 0) throw new Error(`it imports ${imports.join(', ')}. Write all messages into one file.`);
  // Until then, each field seems to track its presence.
  root.resolveAll();
  const file = name === undefined ? root : root.lookup(name);
  const [first] = messagesOf(file);
  if (first === undefined) throw new Error('it has no message.');
  return {
    type: 'PROTOBUF',
    schema,
    flaw(value) {
      try {
        fitted(first, exact(value), []);
        return undefined;
      } catch (error) {
        return (error as Error).message;
      }
    },
    // The first byte says that the value is the file's first message.
    encode: (value) => Buffer.concat([Buffer.of(0), first.encode(fitted(first, exact(value), [])).finish()]),
    decode(bytes) {
      const reader = Reader.create(bytes);
      const depth = reader.sint32();
      const indices = depth === 0 ? [0] : Array.from({ length: depth }, () => reader.sint32());
      const type = indices.reduce<unknown>((of, index) => messagesOf(of)[index], file) as Type | undefined;
      if (type === undefined) throw new Error('the schema has no such message.');
      return jsonText(type.toObject(type.decode(reader), { longs: BigInt, enums: String, bytes: String, defaults: true }));
    },
  };
}

function messagesOf(space: unknown): readonly Type[] {
  return ((space as Namespace | null)?.nestedArray ?? []).filter((one): one is Type => 'fieldsArray' in one);
}

type Path = readonly (string | number)[];

/** The message of a value, in the form that protobufjs encodes. Throws a `TypeError` with the flaw of a value that doesn't fit. */
function fitted({ fieldsArray, oneofsArray }: Type, value: unknown, path: Path): Record<string, unknown> {
  const given = objectOf(value, path);
  for (const { oneof } of oneofsArray)
    if (oneof.filter((name) => (given[name] ?? null) !== null).length > 1) throw misfit(path, `only one of ${oneof.join(', ')}`, value);
  const message: Record<string, unknown> = {};
  for (const field of fieldsArray) {
    const { name } = field;
    const one = Object.hasOwn(given, name) ? given[name] : undefined;
    const isOptional = field.repeated || field.map || (field.hasPresence && !field.required);
    if (one !== undefined && one !== null) message[name] = fittedField(field, one, [...path, name]);
    else if (!isOptional) throw misfit([...path, name], withArticle(field.type), one);
  }
  return message;
}

function fittedField(field: Field, value: unknown, path: Path): unknown {
  if (field.repeated) {
    if (!Array.isArray(value)) throw misfit(path, 'a list', value);
    return value.map((one, i) => fittedValue(field, one, [...path, i]));
  }
  if (!field.map) return fittedValue(field, value, path);
  const { keyType = 'string' } = field as Field & { readonly keyType?: string };
  const entries = Object.entries(objectOf(value, path));
  for (const [key] of entries) if (keyType !== 'string') integerOf(keyType, key, [...path, key]);
  return Object.fromEntries(entries.map(([key, one]) => [key, fittedValue(field, one, [...path, key])]));
}

function fittedValue({ type, resolvedType }: Field, value: unknown, path: Path): unknown {
  if (resolvedType !== null && 'fieldsArray' in resolvedType) return fitted(resolvedType, value, path);
  if (resolvedType !== null) return enumOf(resolvedType, value, path);
  switch (type) {
    case 'string':
      if (typeof value === 'string') return value;
      break;
    case 'bool':
      if (typeof value === 'boolean') return value;
      break;
    case 'float':
    case 'double':
      if (typeof value === 'number') return value;
      break;
    case 'bytes':
      if (value instanceof Uint8Array) return value;
      if (typeof value === 'string' && /^[\w+/-]*={0,2}$/.test(value)) return Buffer.from(value, 'base64');
      break;
    default:
      return integerOf(type, value, path);
  }
  throw misfit(path, withArticle(type), value);
}

function enumOf({ values }: Enum, value: unknown, path: Path): number {
  const number = Object.hasOwn(values, String(value)) ? values[String(value)] : undefined;
  if (typeof value !== 'string' || number === undefined) throw misfit(path, `one of ${Object.keys(values).join(', ')}`, value);
  return number;
}

/** An integer of a type such as uint64. 64 bits become two halves, which need no rounding. */
function integerOf(type: string, value: unknown, path: Path): unknown {
  const number = typeof value === 'string' && /^-?\d+$/.test(value) ? BigInt(value) : integerIn(value);
  const bits = type.endsWith('64') ? 64 : 32;
  const unsigned = /^(?:u|fixed)/.test(type);
  const kept = number === undefined ? undefined : unsigned ? BigInt.asUintN(bits, number) : BigInt.asIntN(bits, number);
  if (number === undefined || kept !== number) throw misfit(path, withArticle(type), value);
  if (bits === 32) return Number(number);
  return { low: Number(BigInt.asIntN(32, number)), high: Number(BigInt.asIntN(32, number >> 32n)), unsigned };
}

function objectOf(value: unknown, path: Path): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw misfit(path, 'an object', value);
  return value as Readonly<Record<string, unknown>>;
}

function misfit(path: Path, expected: string, got: unknown): TypeError {
  return new TypeError(flawWords(placeOf(path), expected, got));
}
