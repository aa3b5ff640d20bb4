import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, extname, resolve } from 'node:path';
import { type TopicRecord, textOf } from '@headgate/topics';
import { quoted } from '../config/problem.ts';
import type { TopicsConfig } from '../config/topics-section.ts';
import { escapedControls } from '../status/text/escaped-controls.ts';
import { groupedNumber } from '../status/text/number-words.ts';
import type { CommandContext } from './command-context.ts';
import { OutputError, type Sink, pacedOutput } from './paced-output.ts';
import { type Cell, type RowWriter, type TableColumn, cellsOf, tableColumns } from './table-columns.ts';
import { UsageError } from './usage-error.ts';

const FORMATS = ['ndjson', 'csv', 'parquet'] as const;
export type TableFormat = (typeof FORMATS)[number];

/** The format of a table: the given one, that of `out`'s extension, or ndjson. Throws a `UsageError` for Parquet on a terminal. */
export function tableFormat(
  format: TableFormat | undefined,
  out: string | undefined,
  { stdout }: Pick<CommandContext, 'stdout'>,
): TableFormat {
  const found = format ?? FORMATS.find((one) => extname(out ?? '').toLowerCase() === `.${one}`) ?? 'ndjson';
  if (found === 'parquet' && out === undefined && stdout.isTTY === true)
    throw new UsageError("read: Parquet is binary and can't go to a terminal. Name a file: --out records.parquet.");
  return found;
}

/**
 * Writes records as a table. Each record is a row with its partition, offset, time and key, and with the properties of its value. `records`
 * returns the records until its signal aborts. `schema`: JSON Schema of the topic's values. `out`: path of the output, or undefined for stdout.
 * A file is replaced atomically, unless it is one of the log's; a pipe or device is written directly. Resolves to the exit code.
 */
export async function writeTable(
  records: (signal: AbortSignal) => AsyncIterable<TopicRecord<Uint8Array>>,
  topic: string,
  schema: object,
  format: TableFormat,
  out: string | undefined,
  topics: TopicsConfig,
  { cwd, signal, stderr, stdout }: CommandContext,
): Promise<number> {
  const target = out === undefined ? undefined : await targetOf(resolve(cwd, out));
  const path = target?.path;
  if (path !== undefined && topics.driver === 'sqlite' && (await isFileOfLog(path, topics.file)))
    throw new UsageError(`read: ${quoted(String(out))} is the log, which --out would overwrite. Name another file.`);
  // Two commands can write to the same file at the same time, so each has its own partial file.
  const partial = target?.isStream === true ? target.path : `${path}.${process.pid}-${randomBytes(4).toString('hex')}.part`;
  const stream: NodeJS.WritableStream & { destroy?(): unknown } = path === undefined ? stdout : createWriteStream(partial);
  const output = pacedOutput(stream, signal, path !== undefined);
  const { over } = output;
  try {
    const table = new Table(schema, format, output);
    for await (const record of records(over)) {
      await table.add(record);
      if (over.aborted) break;
    }
    if (!over.aborted) await table.end();
    if (path !== undefined && !over.aborted) {
      stream.end();
      await once(stream, 'close', { signal: over }).catch(() => undefined);
    }
    if (output.failure !== undefined) throw new OutputError(out ?? 'stdout', output.failure);
    if (signal.aborted) return 130;
    if (path !== undefined) {
      if (partial !== path) await rename(partial, path);
      stderr.write(`${table.rows} records of ${topic} in ${out}\n`);
    }
    if (table.unfit > 0)
      stderr.write(
        `${groupedNumber(table.unfit)} of ${groupedNumber(table.rows)} records of ${topic} ${table.unfit === 1 ? 'has' : 'have'} values without a fitting column. The column record_other has them as JSON.\n`,
      );
    return 0;
  } finally {
    if (path !== undefined) {
      stream.destroy?.();
      if (partial !== path) await rm(partial, { force: true });
    }
  }
}

/** The first records, from which the columns come: at most this many, or about this many bytes. Until then, they stay in memory. */
const SAMPLE = { records: 1_000, bytes: 8 * 2 ** 20 };

class Table {
  readonly #schema: object;
  readonly #format: TableFormat;
  readonly #sink: Sink;
  #sample: TopicRecord<Uint8Array>[] = [];
  #sampleBytes = 0;
  #columns: readonly TableColumn[] = [];
  #writer: RowWriter | undefined;
  rows = 0;
  /** Number of rows with a value in `record_other`. */
  unfit = 0;

  constructor(schema: object, format: TableFormat, sink: Sink) {
    this.#schema = schema;
    this.#format = format;
    this.#sink = sink;
  }

  async add(record: TopicRecord<Uint8Array>): Promise<void> {
    if (this.#writer !== undefined) return await this.#write(record, this.#writer);
    this.#sample.push(record);
    this.#sampleBytes += record.value?.byteLength ?? 0;
    if (this.#sample.length >= SAMPLE.records || this.#sampleBytes >= SAMPLE.bytes) await this.#begin();
  }

  async end(): Promise<void> {
    await (this.#writer ?? (await this.#begin())).end();
  }

  async #begin(): Promise<RowWriter> {
    this.#columns = tableColumns(
      this.#schema,
      this.#sample.map(({ value }) => value && textOf(value)),
    );
    const writer = await rowWriter(this.#format, this.#columns, this.#sink);
    this.#writer = writer;
    for (const record of this.#sample) await this.#write(record, writer);
    this.#sample = [];
    return writer;
  }

  async #write(record: TopicRecord<Uint8Array>, writer: RowWriter): Promise<void> {
    const cells = cellsOf(record, this.#columns);
    await writer.row(cells);
    this.rows += 1;
    if (cells.at(-1) !== null) this.unfit += 1;
  }
}

/** Resolves links in `out`. `isStream` is true for a pipe or device, which is written directly. */
async function targetOf(out: string): Promise<{ readonly path: string; readonly isStream: boolean }> {
  try {
    const found = await stat(out);
    if (found.isDirectory()) throw new UsageError(`read: ${out} is a folder. Name a file in it.`);
    // A pipe of the shell, such as /dev/fd/63, can be opened, but has no real path.
    return found.isFile() ? { path: await realpath(out), isStream: false } : { path: out, isStream: true };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    // The target of a link may be missing. Links in a circle have another code.
    const link = (error as NodeJS.ErrnoException).code === 'ENOENT' ? await readlink(out).catch(() => undefined) : undefined;
    return link === undefined ? { path: out, isStream: false } : await targetOf(resolve(await realpath(dirname(out)), link));
  }
}

async function isFileOfLog(path: string, file: string): Promise<boolean> {
  const log = await realpath(file).catch(() => file);
  return ['', '-wal', '-shm'].some((end) => path === `${log}${end}`);
}

async function rowWriter(format: TableFormat, columns: readonly TableColumn[], sink: Sink): Promise<RowWriter> {
  switch (format) {
    case 'ndjson':
      return ndjson(columns, sink);
    case 'csv':
      return await csv(columns, sink);
    case 'parquet': {
      const { parquet } = await import('./table-parquet.ts');
      return parquet(columns, sink);
    }
  }
}

const nothing = (): Promise<void> => Promise.resolve();

/** Writes one JSON object per line, without empty cells. */
function ndjson(columns: readonly TableColumn[], sink: Sink): RowWriter {
  const names = columns.map(({ name }) => `${JSON.stringify(name)}:`);
  return {
    async row(cells) {
      const fields = cells.flatMap((cell, i) => (cell === null ? [] : [`${names[i]}${jsonCell(cell, columns[i]?.type)}`]));
      await sink.write(`${escapedControls(`{${fields.join(',')}}`)}\n`);
    },
    end: nothing,
  };
}

function jsonCell(cell: Cell, type: TableColumn['type'] | undefined): string {
  if (type === 'json') return String(cell);
  return JSON.stringify(type === 'time' ? isoTime(cell) : cell);
}

/** Writes CSV by RFC 4180, but with line feeds. An empty field means no value, `""` an empty text. */
async function csv(columns: readonly TableColumn[], sink: Sink): Promise<RowWriter> {
  await sink.write(`${columns.map(({ name }) => csvField(name)).join(',')}\n`);
  return {
    async row(cells) {
      const fields = cells.map((cell, i) => {
        if (cell === null) return '';
        if (columns[i]?.type === 'time') return isoTime(cell);
        return csvField(typeof cell === 'object' ? JSON.stringify(cell) : String(cell));
      });
      await sink.write(`${fields.join(',')}\n`);
    },
    end: nothing,
  };
}

function csvField(text: string): string {
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function isoTime(cell: Cell): string {
  return new Date(Number(cell)).toISOString();
}
