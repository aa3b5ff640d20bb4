import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { systemClock } from '@headgate/throttle';
import { expect, test } from 'vitest';
import { configFolder } from '../config/config-folder.fixture.ts';
import { enqueue } from './enqueue.ts';
import { plan } from './plan.ts';

const BLOG = `topics: { driver: sqlite, file: ./headgate.db }
blog:
  use: rest
  baseUrl: http://127.0.0.1:9
  credentials: [{ name: anyone }]
  limit: { requests: 5, window: 1s }
  streams:
    posts: { get: /posts, key: $.id, pages: { link: next } }
    comments: { get: "/posts/{post}/comments", key: $.id, for: { each: posts, with: { post: $.id } } }
    likes: { get: "/comments/{comment}/likes", key: $.id, for: { each: comments, with: { comment: $.id } } }
`;

async function commandsIn(cwd: string) {
  const context = (stdout: PassThrough, json = false) => {
    const [stdin, stderr] = [new PassThrough(), new PassThrough()];
    const { signal } = new AbortController();
    return { file: 'headgate.yaml', cwd, env: {}, stdin, stdout, stderr, terminal: stderr, clock: systemClock(), signal, json };
  };
  return {
    plan: async (json = false) => {
      const stdout = new PassThrough();
      expect(await plan(context(stdout, json))).toBe(0);
      stdout.end();
      return await text(stdout);
    },
    add: async (...jobs: readonly object[]) =>
      await enqueue(
        'blog',
        jobs.map((job) => JSON.stringify(job)),
        [],
        context(new PassThrough()),
      ),
  };
}

test('a stream has one row, with what is known, and with what decides the rest', async () => {
  const { plan: planned, add } = await commandsIn(await configFolder({ 'headgate.yaml': BLOG }));
  expect(await planned()).toBe(
    [
      '                                          requests   with     done',
      'posts      from the start                        ?   anyone   (size not known yet)',
      'comments   a job per record of posts             ?   anyone   (number not known yet)',
      'likes      a job per record of comments          ?   anyone   (number not known yet)',
      'blog: at most 5 requests a second.',
      '',
    ].join('\n'),
  );
  await add(...Array.from({ length: 60 }, (_, post) => ({ stream: 'comments', post: String(post) })));
  const lines = (await planned()).split('\n');
  expect(lines).toHaveLength(7);
  expect(lines.slice(1, 5).map((line) => line.replaceAll(/ {2,}/gu, '  '))).toEqual([
    'posts  from the start  ?  anyone  (size not known yet)',
    'comments  60 jobs  at least 60  anyone  (and a job per new record of posts)',
    'likes  a job per record of comments  ?  anyone  (number not known yet)',
    expect.stringMatching(/^all of blog {2}at least {2}61 {2}anyone {2}in 12 s, or later$/u),
  ]);
  const { pipelines } = JSON.parse(await planned(true)) as {
    pipelines: readonly [{ groups: unknown; walks: unknown[]; is_exact: boolean }];
  };
  expect(pipelines[0].groups).toEqual([
    { group: 'posts', jobs: 1 },
    { group: 'comments', jobs: 60, from: ['posts'] },
    { group: 'likes', jobs: 0, from: ['comments'] },
  ]);
  expect([pipelines[0].walks.length, pipelines[0].walks.at(0)]).toEqual([61, expect.objectContaining({ group: 'comments' })]);
});

test('the number of requests is exact only if no stream can get further jobs', async () => {
  const { plan: planned } = await commandsIn(await configFolder({ 'headgate.yaml': BLOG.replace(', pages: { link: next }', '') }));
  expect(await planned()).toContain('all of blog   at least');
  const likes = await configFolder({ 'headgate.yaml': BLOG.replace('get: /posts,', 'get: "/{of}/posts", for: { of: [] },') });
  const other = await commandsIn(likes);
  await other.add({ stream: 'likes', comment: '1' }, { stream: 'likes', comment: '2' });
  expect(await other.plan()).toMatch(/^likes +2 jobs +2 +anyone\nall of blog +2 +anyone +at once\n$/mu);
});
