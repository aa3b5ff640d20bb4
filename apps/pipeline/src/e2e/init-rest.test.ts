import { type IncomingMessage, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { workplace } from './headgate-process.fixture.ts';

/** A service with 12 posts in pages of `limit`. It needs a key in a header if `key` is set. */
async function blog({ key }: { readonly key?: string } = {}) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    const url = new URL(request.url ?? '/', `http://${request.headers.host}`);
    const isKnown = key === undefined || request.headers['x-api-key'] === key;
    const [from, size] = [Number(url.searchParams.get('offset') ?? 0), Number(url.searchParams.get('limit') ?? 5)];
    const data = Array.from({ length: Math.min(size, 12 - from) }, (_, i) => ({ id: from + i + 1, title: `Post ${from + i + 1}` }));
    const next = from + size < 12 ? `${url.pathname}?limit=${size}&offset=${from + size}` : null;
    response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isKnown ? { data, paging: { next } } : { error: 'no key' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const BOOKS = `topics: { driver: sqlite, file: ./headgate.db }
books: { baseUrl: http://127.0.0.1:9, key: "\${NOT_SET}" }`;

describe('headgate init --rest', () => {
  it('writes a section that check, try and run accept as it is', async () => {
    await using api = await blog();
    await using place = await workplace('');
    const own = ['--config', 'new/blog.yaml'];
    const { code, stderr } = await place.headgate('init', '--rest', `${api.url}/api/v2/posts?limit=5&tag=a{b}`, ...own);
    expect([code, stderr]).toEqual([
      0,
      [
        'new/blog.yaml: added the section api, from one response with 5 records. Next:',
        '  1. Check the lines with "guess" against the documentation of the service, above all limit.',
        '  2. headgate try api.posts --config new/blog.yaml',
        '  3. headgate run --config new/blog.yaml',
        '',
      ].join('\n'),
    ]);
    const text = await readFile(join(place.folder, 'new/blog.yaml'), 'utf8');
    expect(text.slice(text.indexOf('api:'))).toBe(`api:
  use: rest
  baseUrl: ${api.url}/api/v2
  credentials: [{ name: anyone }]
  limit: { requests: 1, window: 1s }            # guess: a slow one. Write the service's limit, such as { requests: 5000, window: 1h }
  streams:
    posts:
      get: /posts
      query: { tag: "a{{b}}" }
      records: "$.data[*]"                      # guess: the list of 5 entries
      key: $.id                                 # guess: different in all 5 records
      pages: { next: $.paging.next, size: { query: limit, is: 5 } } # guess: an address
`);
    expect(await place.headgate('check', ...own)).toMatchObject({ code: 0, stdout: expect.stringContaining('no problems') as string });
    // The request of init counts: within its second, try sends none.
    await expect
      .poll(async () => (await place.headgate('try', 'api.posts', ...own)).stdout)
      .toContain('next page: GET /api/v2/posts?limit=5&offset=5');
    // The lane has the requests of `init` and `try`, and no lists have been lost.
    const run = await place.headgate('run', ...own);
    expect([run.code, run.stderr]).toEqual([0, expect.not.stringContaining('has no entry of these lists')]);
    const { stdout } = await place.headgate('read', 'api.posts', '--format', 'csv', ...own);
    expect(stdout.split('\n').map((line) => line.split(',').slice(4).join(','))).toEqual([
      'id,title,record_other',
      ...Array.from({ length: 12 }, (_, i) => `${i + 1},Post ${i + 1},`),
      '',
    ]);
    expect(api.requests).toHaveLength(5);
  });

  it('adds a section to an existing file, beside one with a missing secret, and never writes a secret', async () => {
    await using api = await blog({ key: 's3cr3t' });
    await using place = await workplace(BOOKS);
    await place.write('.env', 'BLOG_KEY=s3cr3t\n');
    const args = ['init', '--rest', `${api.url}/posts`, '--name', 'blog', '--key', 'BLOG_KEY', '--header', 'x-api-key'];
    expect((await place.headgate(...args)).code).toBe(0);
    const text = await readFile(join(place.folder, 'headgate.yaml'), 'utf8');
    expect(text.startsWith(`${BOOKS}\n\nblog:\n`)).toBe(true);
    expect(text).toContain('credentials: [{ name: app, key: "${BLOG_KEY}", header: x-api-key }]');
    expect(text).not.toContain('s3cr3t');
    const again = await place.headgate(...args.with(6, 'OTHER_KEY'));
    expect([again.code, again.stderr]).toEqual([
      2,
      'headgate: init: headgate.yaml has a section blog already. Choose another name: --name NAME.\n',
    ]);
    expect(api.requests).toHaveLength(1);
  });

  it('refuses a second section for a service, which would use its limit twice, unless it has another credential', async () => {
    await using api = await blog();
    await using place = await workplace('');
    await place.write('.env', 'ONE=a\nTWO=b\n');
    const init = async (...args: string[]) =>
      await place.headgate('init', '--config', 'b.yaml', '--rest', `${api.url}/api/v2/posts`, ...args);
    expect((await init('--bearer', 'ONE')).code).toBe(0);
    for (const args of [[], ['--name', 'other'], ['--name', 'other', '--key', 'ONE']]) {
      const { code, stderr } = await init(...args);
      expect([code, stderr]).toEqual([
        2,
        expect.stringMatching(/has a section for http\S+ already.+ the part of \/api\/v2\/posts that follows its baseUrl\./u),
      ]);
    }
    expect(api.requests).toHaveLength(1);
    expect((await init('--name', 'other', '--bearer', 'TWO')).code).toBe(0);
    expect((await place.headgate('check', '--config', 'b.yaml')).code).toBe(0);
  });

  it.each([['init'], ['init', '--rest', 'http://127.0.0.1:1/posts']])('refuses to write YAML into a module: %s %s', async (...args) => {
    await using place = await workplace('');
    const { code, stderr } = await place.headgate(...args, '--config', 'pipeline.ts');
    expect([code, stderr]).toEqual([
      2,
      'headgate: init: --config names a module, and init writes YAML. Name a file such as headgate.yaml.\n',
    ]);
  });

  it('writes no configuration if the response tells nothing, and says why', async () => {
    await using api = await blog({ key: 's3cr3t' });
    await using place = await workplace('');
    const { code, stderr } = await place.headgate('init', '--rest', `${api.url}/posts`, '--config', 'blog.yaml');
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/401\)\. Check its secret\.\n[^]*--key VARIABLE --header NAME\.\nNo configuration was written\.\n$/u),
    ]);
    const unset = await place.headgate('init', '--rest', `${api.url}/posts`, '--bearer', 'NOT_SET', '--config', 'blog.yaml');
    expect([unset.code, unset.stderr]).toEqual([2, expect.stringContaining("${NOT_SET}, which isn't set")]);
    expect(await readdir(place.folder)).not.toContain('blog.yaml');
    expect(api.requests).toHaveLength(1);
  });

  it.each([
    [['--rest', 'example.com'], 'needs an address'],
    [['--rest', 'https://me:s3cr3t@example.com/x'], 'has a user or a password'],
    [['--rest', 'https://example.com/x?api_key=s3cr3t'], '--key VARIABLE --query api_key'],
    [['--rest', 'https://example.com/x', '--bearer', 's3cr3t-token!'], 'never the secret itself'],
    [['--rest', 'https://example.com/x', '--header', 'x-key'], 'Add --key VARIABLE'],
    [['--rest', 'https://example.com/x', '--bearer', 'A', '--key', 'B'], 'Keep one of them'],
    [['--rest', 'https://example.com/x', '--name', 'books'], "isn't a section name"],
    [['--bearer', 'A'], 'needs --rest URL'],
  ])('refuses %j before it sends anything', async (args, message) => {
    await using place = await workplace('');
    const { code, stderr } = await place.headgate('init', '--config', 'b.yaml', ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(stderr).not.toContain('s3cr3t');
  });
});
