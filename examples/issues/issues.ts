import { bearer } from '@headgate/auth';
import { definePipeline, duration, lookup, route, secret, topic, walk } from '@headgate/pipeline';
import { SourceError, defineSource, jsonBody, refusalWaitMs } from '@headgate/sources';
import { z } from 'zod';

const issue = z.object({ number: z.int(), title: z.string() });
const issues = z.array(issue);
const found = z.object({ issues: z.array(issue.extend({ issue: z.string() })) });

/** A page of a repository, at its first address or at one that a page before it gave, or single issues by name. */
type Query =
  | { readonly repo: string; readonly at?: string | undefined; readonly kept?: Kept | undefined }
  | { readonly names: readonly string[] };

interface Answer {
  readonly issues: readonly z.output<typeof issue>[];
  /** Of single issues: the name that each was asked by. */
  readonly names?: readonly string[];
  /** Path and query of the next page. */
  readonly next?: string | undefined;
  readonly etag?: string | undefined;
}

/** A page as it was when its ETag was given: a 304 costs nothing, and says that it is still the same. */
interface Kept {
  readonly etag: string;
  readonly page: Answer;
}

/** How the service is asked, and what its answers mean. */
const issuesSource = defineSource<Query, Answer>({
  service: 'issues',
  toRequest(query) {
    if ('names' in query) {
      return {
        method: 'POST',
        path: '/issues/batch',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ issues: query.names }),
      };
    }
    const headers = query.kept === undefined ? {} : { 'if-none-match': query.kept.etag };
    return query.at === undefined ? { path: `/repos/${query.repo}/issues`, headers } : { url: query.at, headers };
  },
  classify(answer, { ask, epochMs, redact }) {
    const { status, headers } = answer;
    const said = (code: `HEADGATE_${string}`, message: string) =>
      new SourceError({ code, message, retryable: false, service: 'issues', status });
    if (status === 304 && 'kept' in ask && ask.kept !== undefined)
      return { kind: 'ok', value: ask.kept.page, cost: { window: 0, month: 0 } };
    if (status === 401) return { kind: 'unauthorized', error: said('HEADGATE_UNAUTHORIZED', 'The token is refused. Get a new one.') };
    if (status === 429 || (status === 403 && headers['x-month-left'] === '0'))
      return { kind: 'rate-limited', reason: 'a budget is used up', retryInMs: refusalWaitMs({ answer, epochMs }) };
    if (status === 404)
      return { kind: 'gone', error: said('HEADGATE_NO_REPOSITORY', `${subject(ask)}: there is no such repository. Check its name.`) };
    const body = jsonBody(answer, JSON.parse);
    if (status !== 200 || body.kind === 'broken')
      return { kind: 'transient', reason: `status ${status}: ${redact(body.kind === 'broken' ? body.reason : 'JSON')}` };
    if ('names' in ask) {
      const some = found.safeParse(body.value);
      return some.success
        ? { kind: 'ok', value: { issues: some.data.issues, names: some.data.issues.map(({ issue: name }) => name) } }
        : unfit(some.error);
    }
    const page = issues.safeParse(body.value);
    return page.success
      ? { kind: 'ok', value: { issues: page.data, next: nextOf(headers['link']), etag: headers['etag'] } }
      : unfit(page.error);
  },
  // Another program may use the token.
  evidence: ({ headers }) => ({ window: left(headers, 'window'), month: left(headers, 'month') }),
  subject,
  items: (query) => ('names' in query ? query.names.length : 100),
  itemsOf: ({ issues: all }) => all.length,
});

function subject(query: Query): string {
  return 'names' in query ? `${query.names.length} issues` : query.repo;
}

/** What an answer says of a budget; undefined where it says nothing. */
function left(headers: Readonly<Record<string, string>>, budget: string) {
  const remaining = Number(headers[`x-${budget}-left`]);
  const resetInMs = Number(headers[`x-${budget}-whole-in-ms`]);
  return remaining >= 0 && resetInMs >= 0 ? { remaining, resetInMs } : undefined;
}

function unfit(error: z.ZodError): { readonly kind: 'unfit'; readonly where: string } {
  const [problem] = error.issues;
  return { kind: 'unfit', where: `${problem?.path.join('.') ?? ''}: ${problem?.code ?? ''}` };
}

/** Path and query of the next page (RFC 8288): the service's address may be another one tomorrow. */
function nextOf(link = ''): string | undefined {
  const address = /<([^>]+)>\s*;\s*rel="next"/.exec(link)?.[1];
  if (address === undefined) return undefined;
  const { pathname, search } = new URL(address);
  return pathname + search;
}

/** Pages whose ETags are remembered. */
const MOST_KEPT = 1_000;

const repoName = z.string().regex(/^[\w.-]+\/[\w.-]+$/, 'must be owner/name');
const issueName = z.string().regex(/^[\w.-]+\/[\w.-]+#\d+$/, 'must be owner/name#number');

/** The issues of repositories, page by page, and single issues by name. */
export default definePipeline({
  name: 'issues',
  options: z.strictObject({
    baseUrl: z.url().describe('Address of the service.'),
    tokens: z
      .array(z.strictObject({ name: z.string(), token: secret() }))
      .min(1)
      .describe('Each with budgets of its own.'),
    window: z
      .strictObject({ requests: z.int().positive(), per: duration() })
      .default({ requests: 5_000, per: 3_600_000 })
      .describe('Requests of each token.'),
    perMonth: z.int().positive().default(100_000).describe('Requests of each token in a calendar month, UTC.'),
    repos: z.array(repoName).default([]).describe('owner/name of each repository.'),
  }),
  request: z.union([z.strictObject({ repo: repoName }), z.strictObject({ issue: issueName })]),
  topics: {
    records: topic({ value: issue.extend({ repo: z.string() }) }),
  },
  unit: 'issues',
  keyOf: (request) => ('repo' in request ? request.repo : request.issue),
  parse: (line) => (line.includes('#') ? { issue: line } : { repo: line }),
  listed: ({ repos }) => repos.map((repo) => ({ repo })),
  credentials: ({ tokens }) => tokens,
  agreed: ({ window, perMonth }) => ({ window: { ...window }, perMonth }),
  open({ baseUrl, window, perMonth }, io) {
    const source = issuesSource({
      ...io,
      baseUrl,
      credentials: io.credentials.map(({ name, token }) => ({ name, signer: bearer(token) })),
      budgets: { window: { requests: window.requests, windowMs: window.per }, month: { requests: perMonth, per: 'month' } },
    });
    const kept = new Map<string, Kept>();
    const keep = (at: string, page: Answer): void => {
      kept.delete(at);
      if (page.etag !== undefined) kept.set(at, { etag: page.etag, page });
      for (const [oldest] of kept) if (kept.size > MOST_KEPT) kept.delete(oldest);
    };
    const page = (repo: string, at?: string): Query => ({ repo, at, kept: kept.get(at ?? repo) });
    return route((request: { readonly repo: string } | { readonly issue: string }) => ('repo' in request ? 'repo' : 'issue'), {
      repo: walk({
        source,
        pages: (api, request, from) => {
          const { repo } = request as { readonly repo: string };
          return api.walk(page(repo, typeof from === 'string' ? from : undefined), (value, asked) => {
            if ('repo' in asked) keep(asked.at ?? repo, value);
            return value.next === undefined ? undefined : page(repo, value.next);
          });
        },
        records: (value, { topics, key }) => value.issues.map((one) => topics.records({ key, value: { repo: key, ...one } })),
        checkpoint: ({ next }) => next,
      }),
      issue: lookup({
        source,
        keys: (request) => ('issue' in request ? [request.issue] : []),
        requestOf: ([name = '']) => ({ issue: name }),
        size: 100,
        ask: (api, names, asking) => api.ask({ names }, asking),
        records({ issues: all, names = [] }, { asked, topics }) {
          const known = new Map(names.map((name, i) => [name, all[i]]));
          const records = asked.flatMap(({ key }, index) => {
            const { number = 0, title = '' } = known.get(key) ?? {};
            return known.has(key)
              ? [{ asked: index, record: topics.records({ key, value: { repo: key.split('#')[0] ?? '', number, title } }) }]
              : [];
          });
          const deadLetters = asked.flatMap(({ key }, index) => (known.has(key) ? [] : [{ asked: index, error: noIssue(key) }]));
          return { records, deadLetters };
        },
      }),
    });
  },
});

function noIssue(key: string): SourceError {
  return new SourceError({
    code: 'HEADGATE_NO_ISSUE',
    message: `${key}: there is no such issue.`,
    retryable: false,
    service: 'issues',
    subject: key,
  });
}
