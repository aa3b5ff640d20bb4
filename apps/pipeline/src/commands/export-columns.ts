import { type TopicRecord, textOf } from '@headgate/topics';
import { base64 } from './selected-records.ts';

/** A column of an exported topic. `whole` is an integer, `truth` a boolean, `texts` a list of strings, and `json` any other value as JSON text. */
export interface ExportColumn {
  readonly name: string;
  readonly type: 'text' | 'whole' | 'truth' | 'texts' | 'json' | 'time';
}

/** A record's value in a column. A time is in epoch ms, and null means no value. */
export type Cell = string | number | boolean | readonly string[] | null;

export interface RowWriter {
  row(cells: readonly Cell[]): Promise<void>;
  end(): Promise<void>;
}

const RECORD: readonly ExportColumn[] = [
  { name: 'record_partition', type: 'whole' },
  { name: 'record_offset', type: 'whole' },
  { name: 'record_time', type: 'time' },
  { name: 'record_key', type: 'text' },
];

/** Contains a record's whole value if the value doesn't fit the other columns. */
const REST: ExportColumn = { name: 'record_value', type: 'text' };

/**
 * The columns of a topic: the record's own, such as its offset, those for properties of its value, and one for values that don't fit.
 * `schema`: JSON Schema of the values.
 */
export function exportColumns(schema: object): readonly ExportColumn[] {
  const { properties = {} } = schema as { readonly properties?: Readonly<Record<string, JsonType>> };
  const own = Object.entries(properties)
    .filter(([name]) => !name.startsWith('record_'))
    .map(([name, one]): ExportColumn => ({ name, type: typeOf(one) }));
  return [...RECORD, ...own, REST];
}

interface JsonType {
  readonly type?: unknown;
  readonly items?: JsonType;
}

function typeOf({ type, items }: JsonType): ExportColumn['type'] {
  if (type === 'string') return 'text';
  if (type === 'integer') return 'whole';
  if (type === 'boolean') return 'truth';
  return type === 'array' && items?.type === 'string' ? 'texts' : 'json';
}

/** Matches text that can contain numbers that JavaScript writes differently: long ones, those with a fraction or an exponent, and zeros. */
const RESPELLED_NUMBER = /[:[,]\s*-?(?:\d[\d.eE+-]{15}|\d+[.eE]|0)/;

/** The cells of a record, in the order of the columns. */
export function cellsOf(record: TopicRecord<Uint8Array>, columns: readonly ExportColumn[]): Cell[] {
  const { partition, offset, timestampMs, key, value } = record;
  const text = value && textOf(value);
  const own = columns.slice(RECORD.length, -1);
  const cells = fittingCells(text, own);
  return [
    partition,
    offset,
    timestampMs,
    key && (textOf(key) ?? base64(key)),
    ...(cells ?? own.map(() => null)),
    cells !== undefined || value === null ? null : (text ?? base64(value)),
  ];
}

/** The cells for a value's properties; undefined if the columns don't cover the whole value. */
function fittingCells(text: string | null | undefined, columns: readonly ExportColumn[]): Cell[] | undefined {
  const fields = objectOf(text);
  if (fields === undefined || !Object.keys(fields).every((name) => columns.some((one) => one.name === name))) return undefined;
  try {
    const cells = columns.map(({ name, type }) => (Object.hasOwn(fields, name) ? cellOf(fields[name], type) : null));
    return cells.every((cell) => cell !== undefined) ? cells : undefined;
  } catch (error) {
    // The value is nested too deeply for the stack.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function objectOf(text: string | null | undefined): Readonly<Record<string, unknown>> | undefined {
  if (text === null || text === undefined) return undefined;
  try {
    const value: unknown = RESPELLED_NUMBER.test(text) ? JSON.parse(text, exact) : JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

/** `JSON.rawJSON`, which TypeScript's types don't have yet. */
const raw = JSON as typeof JSON & { rawJSON(text: string): unknown };

/** Keeps the original spelling of a number if JavaScript would spell it differently. */
function exact(this: unknown, _: string, value: unknown, { source }: { readonly source?: string } = {}): unknown {
  return typeof value === 'number' && source !== undefined && String(value) !== source ? raw.rawJSON(source) : value;
}

/** The cell for a property's value. Undefined if the value doesn't fit the column. */
function cellOf(value: unknown, type: ExportColumn['type']): Cell | undefined {
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
