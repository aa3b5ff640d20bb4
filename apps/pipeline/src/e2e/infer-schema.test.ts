import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { type Workplace, workplace } from './headgate-process.fixture.ts';
import { httpService } from './http-service.fixture.ts';

const PAGES = [
  [
    '{"id":1,"state":"open","big":12345678901234567890,"at":"2024-01-01T00:00:00Z","tags":[]}',
    '{"id":2,"state":"open","big":1,"at":"2024-01-02T00:00:00Z","tags":["a"]}',
  ],
  ['{"id":3,"state":"closed","big":18446744073709551615,"at":"2024-01-03T00:00:00Z","tags":[],"note":"secret-9"}'],
  ['{"id":4,"state":"open","big":2,"at":"2024-01-04T00:00:00Z","tags":[],"note":null}'],
  ['{"id":"five","state":"open"}'],
];

/** A service with four pages of issues, and a place with a section for it. */
async function tracker(limit = '{ requests: 50, window: 1s }') {
  const asked: (string | undefined)[] = [];
  const service = await httpService((request, response) => {
    asked.push(request.url);
    const page = Number(new URL(request.url ?? '', 'http://localhost').searchParams.get('page') ?? '1');
    const next = page < PAGES.length ? `,"next":"/issues?page=${page + 1}"` : '';
    response.writeHead(200, { 'content-type': 'application/json' }).end(`{"items":[${PAGES[page - 1]?.join()}]${next}}`);
  });
  const yaml = (more = ''): string => `
topics: { driver: sqlite, file: headgate.db }
status: false
tracker:
  use: rest
  baseUrl: ${service.url}
  credentials: [{ name: anyone }]
  limit: ${limit}
  streams:
    issues: { get: /issues, records: "$.items[*]", key: $.id, pages: { next: $.next }${more} }
`;
  const place = await workplace(yaml());
  return {
    asked,
    yaml,
    place,
    async [Symbol.asyncDispose]() {
      await place[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

async function inferred(place: Workplace, ...args: readonly string[]) {
  const { code, stdout, stderr } = await place.headgate('schema', '--infer', 'tracker.issues', ...args);
  expect(code, stderr).toBe(0);
  return { stdout, stderr, schema: JSON.parse(stdout) as { readonly properties: object; readonly required: readonly string[] } };
}

it('schema --infer requests at most that many pages, and proposes a schema that a run with all their records fits', async () => {
  await using at = await tracker();
  const { place, asked } = at;
  const { stdout, stderr, schema } = await inferred(place, '--pages', '3');
  expect(asked).toEqual(['/issues', '/issues?page=2', '/issues?page=3']);
  expect(schema).toEqual({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'tracker.issues',
    type: 'object',
    properties: {
      id: { type: 'integer' },
      state: { type: 'string' },
      big: { type: 'integer', format: 'uint64' },
      at: { type: 'string', format: 'date-time' },
      tags: { type: 'array', items: { type: 'string' } },
      note: { type: ['string', 'null'] },
    },
    required: ['id', 'state', 'big', 'at', 'tags'],
  });
  expect(stderr.split('\n')).toEqual([
    'headgate: inferred from 4 records of 3 requests, which count against the budget of the next run.',
    "  uint64: integers that a JavaScript number can't hold: $.big",
    '  format date-time, as all of these texts have it: $.at',
    '  optional, as some lack it: $.note (2 of 4)',
    '  not guessed: enums, lengths and limits',
    'Check it, then write its file into schema of the stream. A record that does not fit becomes a dead letter.',
    '',
  ]);
  const fits = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
  expect(
    PAGES.slice(0, 3)
      .flat()
      .every((text) => fits(JSON.parse(text))),
  ).toBe(true);
  expect(await place.records('tracker.issues')).toEqual([]);

  await writeFile(join(place.folder, 'issue.schema.json'), stdout);
  await place.write('headgate.yaml', at.yaml(', schema: ./issue.schema.json'));
  expect((await place.headgate('run')).code).toBe(1);
  const read = await place.headgate('read', 'tracker.issues', '--values');
  expect(read.stdout.trimEnd().split('\n')).toEqual(PAGES.slice(0, 3).flat());
  expect(await place.records('tracker.dead-letters')).toHaveLength(1);
});

it('its requests are in the journal: with a used-up budget, it makes do with fewer pages, and then with none', async () => {
  await using at = await tracker('{ requests: 2, window: 1h }');
  const { place, asked } = at;
  const { stderr } = await inferred(place);
  expect(stderr).toMatch(/^headgate: not sent: its budget is used up until .*\nheadgate: inferred from 3 records of 2 requests,/u);
  const again = await place.headgate('schema', '--infer', 'tracker.issues');
  expect(again).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('there are no records to infer a schema from') as string,
  });
  expect(asked).toHaveLength(2);
});

it.each([
  [['--infer', 'tracker.isues'], 'schema --infer: there is no stream tracker.isues. There are tracker.issues.'],
  [['tracker.issues', '--infer', 'tracker.issues'], 'schema: --infer names a stream. Leave out the topic.'],
  [['--infer', 'tracker.issues', '--pages', '0'], 'Write a whole number from 1.'],
  [['--infer', 'tracker.issues', '--asyncapi'], 'cannot be used with option'],
])('schema %j is a usage error, and sends nothing', async (args, words) => {
  await using at = await tracker();
  const { code, stderr } = await at.place.headgate('schema', ...args);
  expect([code, stderr, at.asked]).toEqual([2, expect.stringContaining(words), []]);
});
