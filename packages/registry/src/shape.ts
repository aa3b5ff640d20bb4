/** The shape of a topic's values, from which schemas in other languages follow. `text`: anything else, as JSON in a text. */
type Shape =
  | { readonly kind: 'string' | 'integer' | 'number' | 'boolean' | 'text' }
  | { readonly kind: 'list'; readonly of: Shape }
  | { readonly kind: 'object'; readonly name: string; readonly members: readonly Member[] };

interface Member {
  readonly name: string;
  readonly shape: Shape;
  readonly isOptional: boolean;
}

/** A schema in another language, and the values that fit it. */
export interface Derived {
  readonly schema: string;
  /** The value with the members of the schema alone. What the schema can't describe becomes JSON in a text. */
  readonly pack: (value: unknown) => unknown;
}

/** The Avro schema of a JSON Schema. `name`: of the record. */
export function derivedAvro(jsonSchema: object, name: string): Derived {
  const shape = shapeOf(jsonSchema, name);
  return { schema: JSON.stringify(avroOf(shape)), pack: (value) => packed(shape, value) };
}

/** The .proto file of a JSON Schema. Members get their numbers in order, so a schema may only grow at its end. */
export function derivedProtobuf(jsonSchema: object, name: string): Derived {
  const shape = shapeOf(jsonSchema, name);
  if (shape.kind !== 'object') throw new Error('only an object can be a Protobuf message.');
  return { schema: `syntax = "proto3";\n\n${messageOf(shape, '')}`, pack: (value) => packed(shape, value) };
}

interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
}

function shapeOf({ type, properties = {}, required = [], items = {} }: JsonSchema, name: string): Shape {
  if (type === 'string' || type === 'integer' || type === 'number' || type === 'boolean') return { kind: type };
  if (type === 'array') {
    const of = shapeOf(items, `${name}Item`);
    // Protobuf has no lists of lists.
    return of.kind === 'list' ? { kind: 'text' } : { kind: 'list', of };
  }
  const members = Object.entries(properties);
  if (type !== 'object' || members.length === 0) return { kind: 'text' };
  const memberOf = (member: string, schema: JsonSchema): Member => {
    const kinds = kindsOf(schema);
    const [kind = {}, ...others] = kinds.filter((one) => one.type !== 'null');
    const isNullable = kinds.length > others.length + 1;
    const shape = shapeOf(others.length > 0 ? {} : kind, `${name}${member.charAt(0).toUpperCase()}${member.slice(1)}`);
    return { name: member, shape, isOptional: isNullable || !required.includes(member) };
  };
  return { kind: 'object', name, members: members.map(([member, schema]) => memberOf(member, schema)) };
}

/** The alternatives of a schema, of which one can be null. */
function kindsOf(schema: JsonSchema): readonly JsonSchema[] {
  const { type, anyOf = [schema] } = schema;
  return typeof type === 'object' ? type.map((one) => ({ ...schema, type: one })) : anyOf;
}

const AVRO = { string: 'string', text: 'string', integer: 'long', number: 'double', boolean: 'boolean' };

function avroOf(shape: Shape): unknown {
  if (shape.kind === 'list') return { type: 'array', items: avroOf(shape.of) };
  if (shape.kind !== 'object') return AVRO[shape.kind];
  const fields = shape.members.map(({ name, shape: of, isOptional }) =>
    isOptional ? { name, type: ['null', avroOf(of)], default: null } : { name, type: avroOf(of) },
  );
  return { type: 'record', name: shape.name, fields };
}

const PROTOBUF = { string: 'string', text: 'string', integer: 'int64', number: 'double', boolean: 'bool' };

function messageOf({ name, members }: Extract<Shape, { readonly kind: 'object' }>, indent: string): string {
  const inner = `${indent}  `;
  const lines = members.flatMap(({ name: member, shape, isOptional }, i) => {
    const of = shape.kind === 'list' ? shape.of : shape;
    const type = of.kind === 'object' ? of.name : of.kind === 'list' ? '' : PROTOBUF[of.kind];
    const label = shape.kind === 'list' ? 'repeated ' : isOptional ? 'optional ' : '';
    return [...(of.kind === 'object' ? [messageOf(of, inner)] : []), `${inner}${label}${type} ${member} = ${i + 1};\n`];
  });
  return `${indent}message ${name} {\n${lines.join('')}${indent}}\n`;
}

function packed(shape: Shape, value: unknown): unknown {
  if (shape.kind === 'text') return JSON.stringify(value);
  if (shape.kind === 'list') return Array.isArray(value) ? value.map((one) => packed(shape.of, one)) : value;
  if (shape.kind !== 'object' || typeof value !== 'object' || value === null) return value;
  const given = value as Readonly<Record<string, unknown>>;
  const isThere = ({ name, shape: of, isOptional }: Member): boolean =>
    given[name] !== undefined && (given[name] !== null || (of.kind === 'text' && !isOptional));
  const members = shape.members.filter(isThere);
  return Object.fromEntries(members.map(({ name, shape: of }) => [name, packed(of, given[name])]));
}
