import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, extname, resolve } from 'node:path';
import { topicNames } from '@headgate/pipeline';
import { shown } from '../config/problem.ts';
import { topicSchemas } from '../records/topic-schemas.ts';
import { escapedControls } from '../status/text/escaped-controls.ts';
import { warnOfClosedStdout } from './closed-stdout.ts';
import { type CommandContext, assertTopicKnown, openLogToRead, readLogConfig } from './command-context.ts';
import { type Cell, type ExportColumn, type RowWriter, cellsOf, exportColumns } from './export-columns.ts';
import { OutputError, type Sink, pacedOutput } from './paced-output.ts';
import { type RecordChoice, selectedRecords, selectionOf } from './selected-records.ts';
import { UsageError } from './usage-error.ts';

const FORMATS = ['ndjson', 'csv', 'parquet'] as const;
type Format = (typeof FORMATS)[number];

export interface ExportOptions extends Omit<RecordChoice, 'follow'> {
  /** The topic's name in the log, or its name without the prefix. */
  readonly topic: string;
  /** Default: the format of `out`'s extension, or ndjson. */
  readonly format?: Format;
  /** Path of the output. A file is replaced atomically; a pipe or device is written directly. Default: stdout. */
  readonly out?: string;
}

/**
 * Writes the committed records of a topic as a table. Each record is a row with its partition, offset, time and key, and with the
 * properties of its value. Resolves to the exit code.
 */
export async function exportTopic(
  { topic: requested, out, format = formatOf(out), ...choice }: ExportOptions,
  context: CommandContext,
): Promise<number> {
  const { clock, cwd, signal, stderr, stdout } = context;
  if (format === 'parquet' && out === undefined && stdout.isTTY === true)
    throw new UsageError("export: Parquet is binary and can't go to a terminal. Name a file: --out records.parquet.");
  const selection = selectionOf(choice, clock.epochMs());
  if (out === undefined) await warnOfClosedStdout(context);
  const config = await readLogConfig(context);
  const { topics, definitions } = config;
  const names = topicNames(topics);
  // The jobs of a pipeline that depends on its options are unknown without them.
  const schemas = definitions.flatMap((one) =>
    topicSchemas(one).filter(({ kind }) => one.dependsOnOptions !== true || kind !== 'requests'),
  );
  const known = schemas.find(({ topic }) => names(topic) === requested || topic === requested);
  if (known === undefined) assertTopicKnown(config, requested);
  const topic = known === undefined ? requested : names(known.topic);
  const columns = exportColumns(known?.value ?? {});
  await using log = await openLogToRead(context, topics);
  const [found] = (await log?.listTopics([topic])) ?? [];
  if (found === undefined && known === undefined) {
    const existing = ((await log?.listTopics(undefined, { withOffsets: false })) ?? []).map(({ name }) => name);
    throw new UsageError(`export: there is no topic ${shown(requested)}. There are: ${existing.join(', ')}.`);
  }
  const target = out === undefined ? undefined : await targetOf(resolve(cwd, out));
  const path = target?.path;
  if (path !== undefined && topics.driver === 'sqlite' && (await isFileOfLog(path, topics.file)))
    throw new UsageError(`export: ${shown(String(out))} is the log, which the export would overwrite. Name another file.`);
  // Two exports can write to the same file at the same time, so each has its own partial file.
  const partial = target?.isStream === true ? target.path : `${path}.${process.pid}-${randomBytes(4).toString('hex')}.part`;
  const stream: NodeJS.WritableStream & { destroy?(): unknown } = path === undefined ? stdout : createWriteStream(partial);
  const output = pacedOutput({ stream, signal, failsWhenClosed: path !== undefined });
  const { over } = output;
  let rows = 0;
  try {
    const writer = await rowWriter(format, columns, output);
    if (log !== undefined && found !== undefined) {
      for await (const record of selectedRecords(log, found, selection, over)) {
        await writer.row(cellsOf(record, columns));
        rows += 1;
        if (over.aborted) break;
      }
    }
    if (!over.aborted) await writer.end();
    if (path !== undefined && !over.aborted) {
      stream.end();
      await once(stream, 'close', { signal: over }).catch(() => undefined);
    }
    if (output.failure !== undefined) throw new OutputError(out ?? 'stdout', output.failure);
    if (signal.aborted) return 130;
    if (path === undefined) return 0;
    if (partial !== path) await rename(partial, path);
    stderr.write(`${rows} records of ${topic} in ${out}\n`);
    return 0;
  } finally {
    if (path !== undefined) {
      stream.destroy?.();
      if (partial !== path) await rm(partial, { force: true });
    }
  }
}

/** Resolves links in `out`. `isStream` is true for a pipe or device, which is written directly. */
async function targetOf(out: string): Promise<{ readonly path: string; readonly isStream: boolean }> {
  try {
    const found = await stat(out);
    if (found.isDirectory()) throw new UsageError(`export: ${out} is a folder. Name a file in it.`);
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

function formatOf(out = ''): Format {
  return FORMATS.find((format) => extname(out).toLowerCase() === `.${format}`) ?? 'ndjson';
}

async function rowWriter(format: Format, columns: readonly ExportColumn[], sink: Sink): Promise<RowWriter> {
  switch (format) {
    case 'ndjson':
      return ndjson(columns, sink);
    case 'csv':
      return await csv(columns, sink);
    case 'parquet': {
      const { parquet } = await import('./export-parquet.ts');
      return parquet(columns, sink);
    }
  }
}

const nothing = (): Promise<void> => Promise.resolve();

/** Writes one JSON object per line, without empty cells. */
function ndjson(columns: readonly ExportColumn[], sink: Sink): RowWriter {
  const names = columns.map(({ name }) => `${JSON.stringify(name)}:`);
  return {
    async row(cells) {
      const fields = cells.flatMap((cell, i) => (cell === null ? [] : [`${names[i]}${jsonCell(cell, columns[i]?.type)}`]));
      await sink.write(`${escapedControls(`{${fields.join(',')}}`)}\n`);
    },
    end: nothing,
  };
}

function jsonCell(cell: Cell, type: ExportColumn['type'] | undefined): string {
  if (type === 'json') return String(cell);
  return JSON.stringify(type === 'time' ? isoTime(cell) : cell);
}

/** Writes CSV by RFC 4180, but with line feeds. An empty field means no value, `""` an empty text. */
async function csv(columns: readonly ExportColumn[], sink: Sink): Promise<RowWriter> {
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
