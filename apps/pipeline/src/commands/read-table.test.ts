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
import { type ReadOptions, read } from './read.ts';
import { parquet } from './table-parquet.ts';

const run = promisify(execFile);
const PYTHON = process.env['HEADGATE_DUCKDB_PYTHON'] ?? 'python3';
const WHY_NOT = await run(PYTHON, ['-c', 'import duckdb']).then(
  () => undefined,
  () => 'no duckdb in Python',
);

const LARGEST = '18446744073709551615';
/** Includes IDs beyond the safe integers of JavaScript, and IDs beyond signed 64-bit integers. */
const IDS = ['9007199254740993', LARGEST, '0', ...Array.from({ length: 300 }, (_, i) => String(2n ** 63n + BigInt(i)))];

async function logWith(
  records: Readonly<Record<string, readonly (string | null | Uint8Array)[]>>,
  files: Readonly<Record<string, string>> = { 'headgate.yaml': BOOKS },
): Promise<string> {
  const cwd = await configFolder(files);
  await using log = await sqliteTopicLog({ file: join(cwd, 'headgate.db'), now: () => Date.parse('2026-11-22T10:00:00.123Z') });
  for (const [topic, values] of Object.entries(records)) {
    await log.createTopics([{ name: topic, partitions: 1 }]);
    await log.append(values.map((value) => ({ topic, key: '@alpha', value })));
  }
  return cwd;
}

async function exported(
  cwd: string,
  options: ReadOptions,
): Promise<{ readonly code: number; readonly out: string; readonly said: string }> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const { signal } = new AbortController();
  const all = Promise.all([text(stdout), text(stderr)]);
  const world = { file: 'headgate.yaml', cwd, env: {}, stdin, stdout, stderr, terminal: stderr, clock: systemClock(), signal, json: false };
  try {
    const code = await read({ ...(options.out === undefined && { format: 'ndjson' }), ...options }, world);
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
    ',"record_other":"no JSON"}',
    '}',
    ',"record_other":"/w=="}',
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
      'record_partition,record_offset,record_time,record_key,isbn,record,more,record_other',
      `0,0,${at},9780140449136,"{""title"":""a \\""b\\"", c\\n""}",,`,
      `0,1,${at},,{},,"{""isbn"":7}"`,
      `0,2,${at},"",{},1,`,
      `0,3,${at},"",[],,`,
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
  expect(second).toContain(`"record_other":${deep}}`);
});

test('two commands that write the same file leave one complete result', async () => {
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
    await expect(exported(cwd, { topic: 'followers.ids', out })).rejects.toThrow(/is the log, which --out would overwrite/);
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
    said: `6 records of followers.pages in ${out}\n1 of 6 records of followers.pages has values without a fitting column. The column record_other has them as JSON.\n`,
  });
  expect((await readdir(cwd)).filter((name) => name.endsWith('.part'))).toEqual([]);
  const rows = (await parquetReadObjects({ file: await asyncBufferFromFile(out) })) as Readonly<Record<string, unknown>>[];
  expect(rows.slice(0, 2)).toMatchObject([
    { record_offset: 0n, record_time: new Date('2026-11-22T10:00:00.123Z'), record_key: '@alpha', page: 1n, cursor: '-1', ids: [] },
    { ids: [LARGEST], record_other: null },
  ]);
  const time = parquetMetadata(new Uint8Array(await readFile(out)).buffer).schema.find(({ name }) => name === 'record_time');
  expect(time?.logical_type).toEqual({ type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' });
  expect(rows.at(-1)).toMatchObject({ record_other: '"odd"' });
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

const SHOP = `topics: { driver: sqlite, file: ./headgate.db }
shop:
  use: rest
  baseUrl: http://127.0.0.1:9
  credentials: [{ name: anyone }]
  limit: { requests: 5, window: 1s }
  streams: { items: { get: "/{of}/items", for: { of: [a] }, key: $.id, add: { of: "{of}" }, schema: ./item.json }, parts: { get: /parts, key: $.id } }
`;
const ITEM = '{"type":"object","properties":{"id":{"type":"string"},"price":{"type":"number"}},"required":["id"]}';
const shopWith = async (records: Readonly<Record<string, readonly string[]>>): Promise<string> =>
  await logWith(records, { 'headgate.yaml': SHOP, 'item.json': ITEM });

test('the columns of a stream are the members of its first records', async () => {
  const parts = [
    { id: 1, name: null, tags: ['a'], of: { id: 7 }, sold: false, count: null },
    { id: 2, name: 'b', tags: [], of: null, sold: true, count: 3, at: '2026-01-02' },
  ].map((value) => JSON.stringify(value));
  const cwd = await shopWith({ 'shop.parts': [...parts, '[1]'] });
  const at = '2026-11-22T10:00:00.123Z,@alpha';
  const { out, said } = await exported(cwd, { topic: 'shop.parts', format: 'csv' });
  expect(out).toBe(
    [
      'record_partition,record_offset,record_time,record_key,id,name,tags,of,sold,count,at,record_other',
      `0,0,${at},1,,"[""a""]","{""id"":7}",false,,,`,
      `0,1,${at},2,b,[],null,true,3,2026-01-02,`,
      `0,2,${at},,,,,,,,[1]`,
      '',
    ].join('\n'),
  );
  expect(said).toBe('1 of 3 records of shop.parts has values without a fitting column. The column record_other has them as JSON.\n');
  const file = join(cwd, 'parts.parquet');
  expect((await exported(cwd, { topic: 'shop.parts', out: file })).code).toBe(0);
  const rows = await parquetReadObjects({ file: await asyncBufferFromFile(file) });
  expect(rows[1]).toMatchObject({ count: 3n });
  expect(rows[0]).toMatchObject({ id: 1n, name: null, tags: ['a'], of: '{"id":7}', sold: false, at: null, record_other: null });
});

test('a member that only later records have, or have as another type, is kept', async () => {
  const parts = Array.from({ length: 1_000 }, (_, id) => JSON.stringify({ id, name: 'a' }));
  const late = ['{"id":9007199254740993,"name":"b"}', '{"id":7,"name":5,"late":"c"}', '{"id":8,"record_key":"d"}'];
  const cwd = await shopWith({ 'shop.parts': [...parts, ...late] });
  const { out, said } = await exported(cwd, { topic: 'shop.parts', format: 'ndjson' });
  const lines = out.split('\n').slice(1_000, -1);
  expect(lines.map((line) => line.replace(/^.*@alpha",/, ''))).toEqual([
    '"name":"b","record_other":{"id":9007199254740993}}',
    '"id":7,"record_other":{"name":5,"late":"c"}}',
    '"id":8,"record_other":{"record_key":"d"}}',
  ]);
  expect(said).toContain('3 of 1,003 records of shop.parts have values without a fitting column.');
});

test('the columns of a stream with a schema are its properties, and members that Headgate adds', async () => {
  const cwd = await shopWith({ 'shop.items': ['{"more":1,"id":"x","price":9.90,"of":"a"}'] });
  expect((await exported(cwd, { topic: 'shop.items', format: 'csv' })).out).toBe(
    [
      'record_partition,record_offset,record_time,record_key,id,price,of,more,record_other',
      '0,0,2026-11-22T10:00:00.123Z,@alpha,x,9.90,a,1,',
      '',
    ].join('\n'),
  );
  const empty = await shopWith({});
  expect((await exported(empty, { topic: 'shop.items', format: 'csv' })).out).toBe(
    'record_partition,record_offset,record_time,record_key,id,price,of,record_other\n',
  );
});

test('an empty topic is an empty table', async () => {
  const cwd = await logWith({});
  const files = ['ndjson', 'csv', 'parquet'].map((format) => join(cwd, `missing.${format}`));
  for (const out of files) expect((await exported(cwd, { topic: 'books.missing', out })).code).toBe(0);
  const [ndjson = '', csv = '', parquetFile = ''] = files;
  expect(await readFile(ndjson, 'utf8')).toBe('');
  expect(await readFile(csv, 'utf8')).toBe('record_partition,record_offset,record_time,record_key,isbn,record_other\n');
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
