import { parseUntouched } from '@headgate/sources';
import { type TopicRecord, textOf } from '@headgate/topics';
import { base64, isOneLineOfJson } from './selected-records.ts';

/** A column of a topic's table. `whole` is an integer, `truth` a boolean, `texts` a list of strings, and `json` any other value as JSON text. */
export interface TableColumn {
  readonly name: string;
  readonly type: 'text' | 'whole' | 'truth' | 'texts' | 'json' | 'time';
}

/** A record's value in a column. A time is in epoch ms, and null means no value. */
export type Cell = string | number | boolean | readonly string[] | null;

export interface RowWriter {
  row(cells: readonly Cell[]): Promise<void>;
  end(): Promise<void>;
}

const RECORD: readonly TableColumn[] = [
  { name: 'record_partition', type: 'whole' },
  { name: 'record_offset', type: 'whole' },
  { name: 'record_time', type: 'time' },
  { name: 'record_key', type: 'text' },
];

/** Contains the parts of a value that fit no other column: the object with those members, or the whole value if it isn't an object. */
const OTHER: TableColumn = { name: 'record_other', type: 'json' };

/**
 * The columns of a topic: the record's own, such as its offset, one per property of its values, and one for what fits none of them. `schema`: JSON
 * Schema of the values. `sample`: values from the topic, as text. They show the members and types that the schema leaves open.
 */
export function tableColumns(schema: object, sample: readonly (string | null | undefined)[]): readonly TableColumn[] {
  const { properties = {} } = schema as { readonly properties?: Readonly<Record<string, JsonType>> };
  const types = new Map(Object.entries(properties).map(([name, one]) => [name, typeOf(one)]));
  const isOpen = (name: string): boolean => types.get(name) === undefined;
  const found = new Map<string, Set<TableColumn['type']>>();
  for (const [name, value] of sample.flatMap((text) => Object.entries(objectOf(text) ?? {}))) {
    if (!isOpen(name)) continue;
    const kinds = found.get(name) ?? new Set();
    found.set(name, kinds);
    for (const kind of kindsOf(value)) kinds.add(kind);
  }
  const own = [...new Set([...types.keys(), ...found.keys()])].filter((name) => !name.startsWith('record_'));
  const soleType = ([kind, ...others]: readonly TableColumn['type'][]): TableColumn['type'] | undefined =>
    others.length === 0 ? kind : undefined;
  return [...RECORD, ...own.map((name) => ({ name, type: types.get(name) ?? soleType([...(found.get(name) ?? [])]) ?? 'json' })), OTHER];
}

interface JsonType {
  readonly type?: unknown;
  readonly items?: JsonType;
}

/** The type of a property's column; undefined if its schema permits several types. */
function typeOf({ type, items }: JsonType): TableColumn['type'] | undefined {
  if (typeof type !== 'string') return undefined;
  if (type === 'string') return 'text';
  if (type === 'integer') return 'whole';
  if (type === 'boolean') return 'truth';
  return type === 'array' && items?.type === 'string' ? 'texts' : 'json';
}

/** The type of the column that a value needs. None for null and an empty list, which fit several types. */
function kindsOf(value: unknown): readonly TableColumn['type'][] {
  if (value === null || (Array.isArray(value) && value.length === 0)) return [];
  return [(['text', 'whole', 'truth', 'texts'] as const).find((type) => cellOf(value, type) !== undefined) ?? 'json'];
}

/** The cells of a record, in the order of the columns. The last one, `record_other`, is null if the other columns have the whole value. */
export function cellsOf(record: TopicRecord<Uint8Array>, columns: readonly TableColumn[]): Cell[] {
  const { partition, offset, timestampMs, key, value } = record;
  return [
    partition,
    offset,
    timestampMs,
    key && (textOf(key) ?? base64(key)),
    ...valueCells(value === null ? null : (textOf(value) ?? base64(value)), columns.slice(RECORD.length, -1)),
  ];
}

/** The cells for a value's properties, and the one for what fits none of their columns. */
function valueCells(text: string | null, columns: readonly TableColumn[]): Cell[] {
  const fields = objectOf(text);
  if (fields === undefined) return [...columns.map(() => null), text === null || isOneLineOfJson(text) ? text : JSON.stringify(text)];
  const cells = columns.map(({ name, type }) => (Object.hasOwn(fields, name) ? cellOf(fields[name], type) : null));
  const fitting = new Set(columns.flatMap(({ name }, i) => (cells[i] === undefined ? [] : [name])));
  const others = Object.entries(fields).filter(([name]) => !fitting.has(name));
  return [...cells.map((cell) => cell ?? null), others.length === 0 ? null : JSON.stringify(Object.fromEntries(others))];
}

function objectOf(text: string | null | undefined): Readonly<Record<string, unknown>> | undefined {
  if (text === null || text === undefined) return undefined;
  try {
    const value = parseUntouched(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

/** The cell for a property's value. Undefined if the value doesn't fit the column. */
function cellOf(value: unknown, type: TableColumn['type']): Cell | undefined {
  if (type === 'json') return value === undefined ? null : JSON.stringify(value);
  if (value === null) return null;
  switch (type) {
    case 'text':
      return typeof value === 'string' ? value : undefined;
    case 'whole':
    case 'time':
      return Number.isSafeInteger(value) ? (value as number) : undefined;
    case 'truth':
      return typeof value === 'boolean' ? value : undefined;
    case 'texts':
      return Array.isArray(value) && value.every((one): one is string => typeof one === 'string') ? value : undefined;
  }
}
