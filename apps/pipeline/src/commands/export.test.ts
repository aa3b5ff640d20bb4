import { execFile } from 'node:child_process';
import { access, lstat, mkdir, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { systemClock } from '@headgate/throttle';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { asyncBufferFromFile, parquetMetadata, parquetReadObjects } from 'hyparquet';
import { expect, test } from 'vitest';
import { BOOKS, configFolder } from '../config/config-folder.fixture.ts';
import { parquet } from './export-parquet.ts';
import { type ExportOptions, exportTopic } from './export.ts';

const run = promisify(execFile);
const PYTHON = process.env['HEADGATE_DUCKDB_PYTHON'] ?? 'python3';
const WHY_NOT = await run(PYTHON, ['-c', 'import duckdb']).then(
  () => undefined,
  () => 'no duckdb in Python',
);

const LARGEST = '18446744073709551615';
/** Includes IDs beyond the safe integers of JavaScript, and IDs beyond signed 64-bit integers. */
const IDS = ['9007199254740993', LARGEST, '0', ...Array.from({ length: 300 }, (_, i) => String(2n ** 63n + BigInt(i)))];

async function logWith(records: Readonly<Record<string, readonly (string | null | Uint8Array)[]>>): Promise<string> {
  const cwd = await configFolder({ 'headgate.yaml': BOOKS });
  await using log = await sqliteTopicLog({ file: join(cwd, 'headgate.db'), now: () => Date.parse('2026-11-22T10:00:00.123Z') });
  for (const [topic, values] of Object.entries(records)) {
    await log.createTopics([{ name: topic, partitions: 1 }]);
    await log.append(values.map((value) => ({ topic, key: '@alpha', value })));
  }
  return cwd;
}

async function exported(
  cwd: string,
  options: ExportOptions,
): Promise<{ readonly code: number; readonly out: string; readonly said: string }> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const { signal } = new AbortController();
  const all = Promise.all([text(stdout), text(stderr)]);
  const world = { file: 'headgate.yaml', cwd, env: {}, stdin, stdout, stderr, terminal: stderr, clock: systemClock(), signal, json: false };
  try {
    const code = await exportTopic(options, world);
    stdout.end();
    stderr.end();
    const [out, said] = await all;
    return { code, out, said };
  } finally {
    stdout.end();
    stderr.end();
  }
}

const idValue = (id: string): string => JSON.stringify({ user: '@alpha', crawl: 'followers.requests-0-0', page: 1, id });

test('NDJSON has a line for each record, with every digit', async () => {
  const cwd = await logWith({
    'followers.ids': IDS.map(idValue),
    'books.records': ['{"isbn":"9780140449136","record":{"n":9007199254740993,"title":"a"}}', 'no JSON', null, Uint8Array.of(0xff)],
  });
  const { code, out } = await exported(cwd, { topic: 'followers.ids' });
  const lines = out.split('\n').slice(0, -1);
  expect([code, lines.map((line) => (JSON.parse(line) as { id: string }).id)]).toEqual([0, IDS]);
  expect(lines[0]).toBe(
    '{"record_partition":0,"record_offset":0,"record_time":"2026-11-22T10:00:00.123Z","record_key":"@alpha","user":"@alpha","crawl":"followers.requests-0-0","page":1,"id":"9007199254740993"}',
  );
  const books = (await exported(cwd, { topic: 'books.records' })).out.split('\n').map((line) => line.replace(/^.*@alpha"/, ''));
  expect(books).toEqual([
    ',"isbn":"9780140449136","record":{"n":9007199254740993,"title":"a"}}',
    ',"record_value":"no JSON"}',
    '}',
    ',"record_value":"/w=="}',
    '',
  ]);
  expect((await exported(cwd, { topic: 'followers.ids', tail: 2, key: '@alpha' })).out.split('\n')).toHaveLength(3);
});

test('CSV quotes only if needed, and keeps values without a column in full', async () => {
  const odd = [
    { isbn: '9780140449136', record: { title: 'a "b", c\n' } },
    { isbn: 7, record: {} },
    { isbn: '', record: {}, more: 1 },
    { isbn: '', record: [] },
  ].map((value) => JSON.stringify(value));
  const cwd = await logWith({ 'books.records': odd });
  const { out } = await exported(cwd, { topic: 'books.records', format: 'csv' });
  const at = '2026-11-22T10:00:00.123Z,@alpha';
  expect(out).toBe(
    [
      'record_partition,record_offset,record_time,record_key,isbn,record,record_value',
      `0,0,${at},9780140449136,"{""title"":""a \\""b\\"", c\\n""}",`,
      `0,1,${at},,,"{""isbn"":7,""record"":{}}"`,
      `0,2,${at},,,"{""isbn"":"""",""record"":{},""more"":1}"`,
      `0,3,${at},"",[],`,
      '',
    ].join('\n'),
  );
});

test('numbers keep their spelling, and a record nested too deeply is kept as text', async () => {
  const spelled = '{"price":9.90,"huge":1e400,"zero":-0,"exponent":1E2}';
  const deep = `{"isbn":"1","record":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
  const cwd = await logWith({ 'books.records': [`{"isbn":"1","record":${spelled}}`, deep] });
  const [first = '', second = ''] = (await exported(cwd, { topic: 'books.records' })).out.split('\n');
  expect(first).toContain(`"record":${spelled}}`);
  expect((JSON.parse(second) as { record_value: string }).record_value).toBe(deep);
});

test('two exports to the same file leave one complete result', async () => {
  const cwd = await logWith({ 'followers.ids': Array.from({ length: 3_000 }, (_, i) => idValue(String(i))) });
  const out = join(cwd, 'ids.ndjson');
  await Promise.all([exported(cwd, { topic: 'followers.ids', out }), exported(cwd, { topic: 'followers.ids', out })]);
  const lines = (await readFile(out, 'utf8')).trim().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(Array.from({ length: 3_000 }, (_, i) => String(i)));
  expect((await readdir(cwd)).toSorted()).toEqual(['headgate.db', 'headgate.yaml', 'ids.ndjson']);
});

test('never overwrites the log, whatever path names it', async () => {
  const cwd = await logWith({ 'followers.ids': [idValue('7')] });
  await symlink('headgate.db', join(cwd, 'link.csv'));
  for (const out of ['headgate.db', './headgate.db-wal', 'headgate.db-shm', 'link.csv', join(cwd, 'headgate.db')]) {
    await expect(exported(cwd, { topic: 'followers.ids', out })).rejects.toThrow(/is the log, which the export would overwrite/);
  }
  expect((await exported(cwd, { topic: 'followers.ids' })).out).toContain('"id":"7"');
});

test('writes to a pipe and a device, and through a link', async () => {
  const cwd = await logWith({ 'followers.ids': [idValue('7')] });
  const line = expect.stringContaining('"id":"7"');
  const fifo = join(cwd, 'fifo');
  await run('mkfifo', [fifo]);
  const [read] = await Promise.all([readFile(fifo, 'utf8'), exported(cwd, { topic: 'followers.ids', out: fifo })]);
  expect(read).toEqual(line);
  expect((await lstat(fifo)).isFIFO()).toBe(true);
  await symlink('/dev/null', join(cwd, 'null'));
  expect((await exported(cwd, { topic: 'followers.ids', out: 'null' })).code).toBe(0);
  expect((await stat('/dev/null')).isCharacterDevice()).toBe(true);
  await mkdir(join(cwd, 'elsewhere'));
  await writeFile(join(cwd, 'elsewhere/ids.ndjson'), 'old');
  await symlink('elsewhere/ids.ndjson', join(cwd, 'link'));
  expect((await exported(cwd, { topic: 'followers.ids', out: 'link' })).code).toBe(0);
  expect((await lstat(join(cwd, 'link'))).isSymbolicLink()).toBe(true);
  expect(await readFile(join(cwd, 'elsewhere/ids.ndjson'), 'utf8')).toEqual(line);
  await symlink('elsewhere/new', join(cwd, 'new.CSV'));
  expect((await exported(cwd, { topic: 'followers.ids', out: 'new.CSV' })).code).toBe(0);
  expect((await lstat(join(cwd, 'new.CSV'))).isSymbolicLink()).toBe(true);
  expect(await readFile(join(cwd, 'elsewhere/new'), 'utf8')).toMatch(/^record_partition,/u);
  await mkdir(join(cwd, 'deep/real'), { recursive: true });
  await symlink('../elsewhere.csv', join(cwd, 'deep/real/link.csv'));
  await symlink('deep/real', join(cwd, 'linked'));
  expect((await exported(cwd, { topic: 'followers.ids', out: 'linked/link.csv' })).code).toBe(0);
  expect(await readFile(join(cwd, 'deep/elsewhere.csv'), 'utf8')).toMatch(/^record_partition,/u);
  await expect(exported(cwd, { topic: 'followers.ids', out: 'elsewhere' })).rejects.toThrow(/elsewhere is a folder/);
});

const page = (ids: readonly string[]): string =>
  JSON.stringify({ user: '@alpha', crawl: 'c', page: 1, cursor: '-1', nextCursor: '0', previousCursor: '0', ids });

test('Parquet has typed columns, and the file appears only when complete', async () => {
  const many = Array.from({ length: 3 }, (_, i) =>
    page(Array.from({ length: 5_000 }, (_unused, j) => String(2n ** 63n + BigInt(i * 5_000 + j)))),
  );
  const cwd = await logWith({ 'followers.pages': [page([]), page([LARGEST]), ...many, 'odd'] });
  const out = join(cwd, 'pages.parquet');
  expect(await exported(cwd, { topic: 'followers.pages', out })).toMatchObject({
    code: 0,
    out: '',
    said: `6 records of followers.pages in ${out}\n`,
  });
  expect((await readdir(cwd)).filter((name) => name.endsWith('.part'))).toEqual([]);
  const rows = (await parquetReadObjects({ file: await asyncBufferFromFile(out) })) as Readonly<Record<string, unknown>>[];
  expect(rows.slice(0, 2)).toMatchObject([
    { record_offset: 0n, record_time: new Date('2026-11-22T10:00:00.123Z'), record_key: '@alpha', page: 1n, cursor: '-1', ids: [] },
    { ids: [LARGEST], record_value: null },
  ]);
  const time = parquetMetadata(new Uint8Array(await readFile(out)).buffer).schema.find(({ name }) => name === 'record_time');
  expect(time?.logical_type).toEqual({ type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' });
  expect(rows.at(-1)).toMatchObject({ record_value: 'odd' });
  expect(rows.slice(2, -1).flatMap(({ ids }) => ids)).toEqual(many.flatMap((value) => (JSON.parse(value) as { ids: string[] }).ids));
  await expect(exported(cwd, { topic: 'followers.pages', out: join(cwd, 'no/such.csv') })).rejects.toThrow(
    /could not be written to .*ENOENT/,
  );
  await expect(access(join(cwd, 'no'))).rejects.toThrow('ENOENT');
});

test('Parquet is written one row group at a time, limited by rows or bytes', async () => {
  const chunks: Uint8Array[] = [];
  const sink = { write: async (chunk: string | Uint8Array) => void chunks.push(Buffer.from(chunk)) };
  const groups = async (most: { readonly rows: number; readonly bytes: number }) => {
    chunks.length = 0;
    const writer = parquet([{ name: 'id', type: 'text' }], sink, most);
    for (const id of IDS) await writer.row([id]);
    const before = chunks.length;
    await writer.end();
    const file = new Uint8Array(Buffer.concat(chunks)).buffer;
    expect(await parquetReadObjects({ file })).toEqual(IDS.map((id) => ({ id })));
    return { before, groups: parquetMetadata(file).row_groups.length };
  };
  expect(await groups({ rows: 100, bytes: 10 ** 6 })).toEqual({ before: 3, groups: 4 });
  expect(await groups({ rows: 10 ** 6, bytes: 1_900 })).toEqual({ before: 3, groups: 4 });
});

test('an empty topic is an empty table', async () => {
  const cwd = await logWith({});
  const files = ['ndjson', 'csv', 'parquet'].map((format) => join(cwd, `missing.${format}`));
  for (const out of files) expect((await exported(cwd, { topic: 'books.missing', out })).code).toBe(0);
  const [ndjson = '', csv = '', parquetFile = ''] = files;
  expect(await readFile(ndjson, 'utf8')).toBe('');
  expect(await readFile(csv, 'utf8')).toBe('record_partition,record_offset,record_time,record_key,isbn,record_value\n');
  expect(await parquetReadObjects({ file: await asyncBufferFromFile(parquetFile) })).toEqual([]);
});

test.skipIf(WHY_NOT !== undefined)(`DuckDB reads the same ids of all three${WHY_NOT === undefined ? '' : `: ${WHY_NOT}`}`, async () => {
  const cwd = await logWith({ 'followers.ids': IDS.map(idValue), 'followers.pages': [page(IDS)] });
  for (const format of ['ndjson', 'csv', 'parquet']) await exported(cwd, { topic: 'followers.ids', out: join(cwd, `ids.${format}`) });
  await exported(cwd, { topic: 'followers.pages', out: join(cwd, 'pages.parquet') });
  const script = `
import duckdb, json
tables = ["read_json('ids.ndjson', format='newline_delimited', columns={id: 'VARCHAR'})", "read_csv('ids.csv', all_varchar=true)", "'ids.parquet'"]
ids = [[row[0] for row in duckdb.sql(f"SELECT id FROM {table}").fetchall()] for table in tables]
one = duckdb.sql("SELECT max(id::UBIGINT)::VARCHAR, typeof(any_value(page)), typeof(any_value(record_time)) FROM 'ids.parquet'").fetchall()[0]
pages = [row[0] for row in duckdb.sql("SELECT unnest(ids) FROM 'pages.parquet'").fetchall()]
print(json.dumps([*ids, pages, one]))`;
  const { stdout } = await run(PYTHON, ['-c', script], { cwd, maxBuffer: 2 ** 26 });
  expect(JSON.parse(stdout)).toEqual([IDS, IDS, IDS, IDS, [LARGEST, 'BIGINT', expect.stringMatching(/^TIMESTAMP/)]]);
});
