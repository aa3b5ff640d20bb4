import { bearer } from '@headgate/auth';
import { definePipeline, duration, lookup, route, secret, topic, walk } from '@headgate/pipeline';
import { SourceError, defineSource, nextLink, refusalWaitMs, statusVerdict } from '@headgate/sources';
import { z } from 'zod';

const issue = z.object({ number: z.int(), title: z.string() });
const list = z.array(issue);
const batch = z.object({ issues: z.array(issue.extend({ issue: z.string() })) });

/** The request for a page of a repository, at its first address or at the one that the previous page gave, or for single issues by name. */
type Query =
  | { readonly repo: string; readonly at: string | undefined; readonly kept: Page | undefined }
  | { readonly names: readonly string[] };

interface Page {
  readonly issues: readonly (z.output<typeof issue> & { readonly issue?: string })[];
  /** The Link header, which contains the address of the next page. */
  readonly link?: string | undefined;
  /** If a request repeats the ETag, the service answers 304 for an unchanged page, and doesn't count the request. */
  readonly etag?: string | undefined;
  /** Address of the page, or the repository for the first one. */
  readonly address?: string;
}

/** The requests to the service, and how its responses are judged. */
const issuesSource = defineSource<Query, Page>({
  service: 'issues',
  toRequest(query) {
    if ('names' in query) {
      const body = JSON.stringify({ issues: query.names });
      return { method: 'POST', path: '/issues/batch', headers: { 'content-type': 'application/json' }, body };
    }
    const headers = query.kept?.etag === undefined ? {} : { 'if-none-match': query.kept.etag };
    return query.at === undefined ? { path: `/repos/${query.repo}/issues`, headers } : { url: query.at, headers };
  },
  classify(answer, context) {
    const { query, epochMs } = context;
    const { status, headers } = answer;
    if (status === 304 && 'kept' in query && query.kept !== undefined)
      return { kind: 'ok', value: query.kept, cost: { window: 0, month: 0 } };
    if (status === 403 && headers['x-month-left'] === '0')
      return { kind: 'rate-limited', reason: 'the quota of the month is used up', retryInMs: refusalWaitMs({ answer, epochMs }) };
    if ('names' in query) return statusVerdict(answer, context, batch);
    const { repo, at: address = repo } = query;
    const page = list.transform((issues): Page => ({ issues, link: headers['link'], etag: headers['etag'], address }));
    return statusVerdict(answer, context, page);
  },
  // The budgets in the headers also show the use of the token by other programs.
  evidence: ({ headers }) => ({ window: left(headers, 'window'), month: left(headers, 'month') }),
  subject,
  items: (query) => ('names' in query ? query.names.length : 100),
  itemsOf: ({ issues }) => issues.length,
});

function subject(query: Query): string {
  return 'names' in query ? `${query.names.length} issues` : query.repo;
}

/** The state of a budget according to a response; undefined if the response has none. */
function left(headers: Readonly<Record<string, string>>, budget: string) {
  const remaining = Number(headers[`x-${budget}-left`]);
  const resetInMs = Number(headers[`x-${budget}-whole-in-ms`]);
  return remaining >= 0 && resetInMs >= 0 ? { remaining, resetInMs } : undefined;
}

const repoName = z.string().regex(/^[\w.-]+\/[\w.-]+$/, 'must be owner/name');
const issueName = z.string().regex(/^[\w.-]+\/[\w.-]+#\d+$/, 'must be owner/name#number');
const request = z.union([z.strictObject({ repo: repoName }), z.strictObject({ issue: issueName })]);

/** Maximum pages that are kept for their ETags. */
const MOST_KEPT = 1_000;

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
  request,
  topics: { records: topic({ value: issue.extend({ repo: z.string() }) }) },
  unit: 'issues',
  keyOf: (one) => ('repo' in one ? one.repo : one.issue),
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
    const kept = new Map<string, Page>();
    const keep = (page: Page): Page => {
      const { address = '' } = page;
      kept.delete(address);
      kept.set(address, page);
      for (const [oldest] of kept) if (kept.size > MOST_KEPT) kept.delete(oldest);
      return page;
    };
    const pageOf = (repo: string, at?: string): Query => ({ repo, at, kept: kept.get(at ?? repo) });
    return route((one: z.output<typeof request>) => ('repo' in one ? ['repo', one] : ['issue', one]), {
      repo: walk({
        source,
        paging: ({ repo }) => nextLink({ first: pageOf(repo), query: (at) => pageOf(repo, at), link: (page) => keep(page).link }),
        records: ({ issues }, { topics, key: repo }) => issues.map((one) => topics.records({ key: repo, value: { repo, ...one } })),
      }),
      issue: lookup({
        source,
        key: ({ issue: name }) => name,
        size: 100,
        query: (api, names, given) => api.query({ names }, given),
        records({ issues }, { requested, topics }) {
          const found = new Map(issues.map(({ issue: name, number, title }) => [name, { number, title }]));
          const records = requested.flatMap(({ key }, index) => {
            const one = found.get(key);
            return one === undefined ? [] : [{ index, record: topics.records({ key, value: { repo: key.replace(/#.*/, ''), ...one } }) }];
          });
          const missing = requested.flatMap(({ key }, index) => (found.has(key) ? [] : [{ index, error: noIssue(key) }]));
          return { records, deadLetters: missing };
        },
      }),
    });
  },
});

const noIssue = (key: string): SourceError =>
  new SourceError({ code: 'HEADGATE_NO_ISSUE', message: `${key}: there is no such issue.`, retryable: false, service: 'issues' });
