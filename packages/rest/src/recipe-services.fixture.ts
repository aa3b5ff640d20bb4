import type { ApiCall, ApiOptions } from './api.fixture.ts';
import {
  type EmulatedService,
  type Version,
  YEAR_MS,
  afterRow,
  authorized,
  basic,
  by,
  byId,
  fromOffset,
  iso,
  linked,
  numbered,
  tagOf,
} from './recipe-emulator.fixture.ts';
import { type Zone, zoneOf } from './zone.ts';

// What these services refuse, and how they sort, select and page, is what their public documentation says. Where it leaves something open, the
// emulator does either, as its `unknowns` say.

type Emulator = (service: EmulatedService) => Pick<ApiOptions, 'routes' | 'knows'>;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const BERLIN = zoneOf('Europe/Berlin');
const SITES = ['America/New_York', 'Europe/Athens', 'UTC'].map(zoneOf);

const updated = ({ at }: Version): number => at;
const created = ({ created: at }: Version): number => at;
const oldestFirst = by(updated);

/** The local time in a zone, such as `2026-01-10T09:00:00`. */
function local(zone: Zone, ms: number): string {
  return new Date(zone.localAt(ms)).toISOString().slice(0, 19);
}

/** The offset of a zone at a time, such as `+01:00`. */
function offsetOf(zone: Zone, ms: number): string {
  const minutes = (zone.localAt(ms) - ms) / MINUTE_MS;
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60].map((part) => String(part).padStart(2, '0'));
  return `${minutes < 0 ? '-' : '+'}${hours}:${rest}`;
}

/** A token for an application, as OAuth's client credentials give it. */
function tokenRoute(service: EmulatedService, client: string) {
  return (call: ApiCall) => {
    const { grant_type: grant } = call.body as { readonly grant_type?: string };
    service.must(basic(client)(call) && grant === 'client_credentials', 'a token', 401);
    return { body: { access_token: 'granted', expires_in: 1_800, token_type: 'Bearer' } };
  };
}

function github(service: EmulatedService): ReturnType<Emulator> {
  const repos = service.table({ stream: 'repos', edits: ['add'], lists: 'whole', first: 4 });
  const issues = [1, 2].map(() =>
    service.table({
      stream: 'issues',
      child: { stream: 'comments', tags: ({ id, version }) => numbersTo(version).map((n) => `c${id}-${n}`) },
    }),
  );
  let requests = 0;
  let limitedUntil = 0;
  /** Some requests meet the secondary limit: status 403, and headers that name the other limit. At least a minute must pass after it. */
  const secondary = () => {
    const now = service.now();
    service.must(now >= limitedUntil, 'a request within a minute after the secondary limit', 403);
    if ((requests += 1) % 9 !== 5) return undefined;
    limitedUntil = now + MINUTE_MS;
    return service.announce({
      status: 403,
      headers: { 'x-ratelimit-limit': '5000', 'x-ratelimit-remaining': '14', 'x-ratelimit-reset': String(Math.floor(now / 1_000) + 2_400) },
      body: { message: 'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.' },
    });
  };
  return {
    knows: authorized('Bearer secret-GITHUB_TOKEN'),
    routes: {
      'GET /orgs/{org}/repos': (call) => {
        service.size(call.query.get('per_page'), 100);
        const { sort = 'created', direction = 'desc' } = Object.fromEntries(call.query);
        service.must(sort === 'created', `sort ${sort}`, 422);
        const rows = repos.rows().toSorted(by(created, direction === 'asc' ? 1 : -1));
        return (
          secondary() ?? linked(rows, call, (row) => ({ id: row.id, name: `repo-${row.id}`, owner: { login: 'nodejs' }, tag: tagOf(row) }))
        );
      },
      'GET /repos/{owner}/{repo}/issues': (call) => {
        const { per_page: size, since = '', sort = 'created', direction = 'desc' } = Object.fromEntries(call.query);
        service.size(size, 100);
        const sinceMs = since === '' ? -Infinity : Date.parse(since);
        service.must(!Number.isNaN(sinceMs), `since ${since}`, 422);
        const number = Number(call.params['repo']?.slice('repo-'.length));
        // Issues are switched off in the third repository.
        if (number === 3) return service.announce({ status: 410, body: { message: 'Issues has been disabled in this repository.' } });
        const order = by(sort === 'updated' ? updated : created, direction === 'asc' ? 1 : -1);
        const rows = (issues[number - 1]?.rows() ?? []).filter(({ at }) => (service.unknowns.isExclusive ? at > sinceMs : at >= sinceMs));
        return (
          secondary() ??
          linked(rows.toSorted(order), call, (row) => ({ id: row.id, number: row.id, updated_at: iso(row.at), tag: tagOf(row) }))
        );
      },
      'GET /repos/{owner}/{repo}/issues/{number}/comments': (call) => {
        service.size(call.query.get('per_page'), 100);
        const issue = issues.map((table) => table.newest(Number(call.params['number']))).find((one) => one !== undefined);
        if (issue === undefined || issue.isGone) return service.announce({ status: 410, body: { message: 'This issue was deleted' } });
        const comments = numbersTo(issue.version).map((n) => `c${issue.id}-${n}`);
        return secondary() ?? linked(comments, call, (tag) => ({ id: tag, tag }));
      },
    },
  };
}

function stripe(service: EmulatedService): ReturnType<Emulator> {
  const charges = service.table({ stream: 'charges', edits: ['add'] });
  const newestFirst = by(created, -1);
  return {
    knows: basic('secret-STRIPE_KEY:'),
    routes: {
      'GET /v1/charges': ({ query }) => {
        service.count('charges', 25, 1_000);
        service.size(query.get('limit') ?? 10, 100);
        const since = query.get('created[gte]') ?? '0';
        service.must(/^\d+$/.test(since), `created[gte] ${since}`);
        const after = query.get('starting_after');
        const last = after === null ? undefined : charges.newest(Number(after));
        service.must(after === null || last !== undefined, `starting_after ${after}`);
        const rows = charges.rows().filter((row) => row.at >= Number(since) * 1_000);
        const page = afterRow(rows.toSorted(newestFirst), newestFirst, last && JSON.stringify(last));
        return {
          body: {
            data: page.rows.map((row) => ({ id: row.id, created: row.at / 1_000, tag: tagOf(row) })),
            has_more: page.more !== undefined,
          },
        };
      },
    },
  };
}

function zendesk(service: EmulatedService): ReturnType<Emulator> {
  // Either the export excludes the last minute, or it refuses to start in it.
  const excludes = service.unknowns.choice % 2 === 0;
  // A deleted ticket stays in the export, with another status.
  const tickets = service.table({ stream: 'tickets', edits: ['add', 'change'], lagMs: excludes ? MINUTE_MS : 0, lag: 1 });
  return {
    knows: basic('me@acme.example/token:secret-ZENDESK_TOKEN'),
    routes: {
      'GET /api/v2/incremental/tickets/cursor.json': ({ query }) => {
        service.count('export', 10, MINUTE_MS);
        const { cursor, start_time: start = '' } = Object.fromEntries(query);
        service.must(cursor === undefined ? /^\d+$/.test(start) : query.size === 1, `the parameters ${query.toString()}`);
        if (cursor === undefined && Number(start) * 1_000 > service.now() - MINUTE_MS)
          return service.announce({ status: 422, body: { error: 'StartTimeTooRecent', description: 'Too recent start_time.' } });
        const rows = tickets.rows().filter(({ at }) => cursor !== undefined || at >= Number(start) * 1_000);
        const page = afterRow(rows.toSorted(oldestFirst), oldestFirst, cursor);
        // A change by the system counts as `generated_timestamp` only.
        const record = (row: Version) => ({
          id: row.id,
          updated_at: iso(row.version % 2 === 0 ? row.created : row.at),
          generated_timestamp: row.at / 1_000,
          tag: tagOf(row),
        });
        const end = page.rows.at(-1);
        return {
          body: {
            tickets: page.rows.map((row) => record(row)),
            after_cursor: end === undefined ? (cursor ?? null) : JSON.stringify(end),
            end_of_stream: page.more === undefined,
          },
        };
      },
    },
  };
}

function hubspot(service: EmulatedService): ReturnType<Emulator> {
  const contacts = service.table({ stream: 'contacts', lists: 'whole' });
  return {
    knows: authorized('Bearer secret-HUBSPOT_TOKEN'),
    routes: {
      'GET /crm/v3/objects/contacts': ({ query }) => {
        service.count('burst', 190, 10_000);
        service.size(query.get('limit') ?? 10, 100);
        const after = Number(query.get('after') ?? 0);
        const rest = contacts.rows().filter(({ id }) => id > after);
        const { rows, more } = fromOffset(rest, 0);
        const paging = more === undefined ? {} : { paging: { next: { after: String(rows.at(-1)?.id) } } };
        return { body: { results: rows.map((row) => ({ id: String(row.id), tag: tagOf(row) })), ...paging } };
      },
    },
  };
}

function notion(service: EmulatedService): ReturnType<Emulator> {
  // A cursor may be the ID of the next row, wherever that row is by then. It isn't documented what happens if that row is gone.
  const { isCounted, choice } = service.unknowns;
  const pages = service.table({
    stream: 'rows',
    precisionMs: MINUTE_MS,
    round: choice % 2 === 0 ? Math.floor : Math.round,
    edits: isCounted ? ['add', 'change'] : ['add', 'change', 'remove'],
  });
  return {
    knows: (call) => authorized('Bearer secret-NOTION_TOKEN')(call),
    routes: {
      'POST /v1/data_sources/{source}/query': ({ body, headers }) => {
        service.count('average', 3, 1_000);
        service.must(headers['notion-version'] === '2025-09-03', 'the version');
        const { filter, sorts = [], page_size: size = 100, start_cursor: cursor } = body as NotionQuery;
        service.size(size, 100);
        const since = filter?.last_edited_time?.on_or_after;
        service.must(
          filter === undefined || (filter.timestamp === 'last_edited_time' && Number.isFinite(Date.parse(since ?? ''))),
          'the filter',
        );
        const [{ timestamp, direction } = { timestamp: 'created_time', direction: 'ascending' }] = sorts;
        const order = by(timestamp === 'last_edited_time' ? updated : created, direction === 'ascending' ? 1 : -1);
        const rows = pages
          .rows()
          .filter(({ at }) => since === undefined || at >= Date.parse(since))
          .toSorted(order);
        const from = isCounted && cursor !== undefined ? rows.findIndex(({ id }) => String(id) === cursor) : 0;
        service.must(from >= 0, `the cursor ${cursor}`);
        const counted = fromOffset(rows, from);
        const named = afterRow(rows, order, cursor);
        const [found, next] = isCounted
          ? [counted.rows, counted.more === undefined ? null : String(rows[counted.more]?.id)]
          : [named.rows, named.more ?? null];
        return {
          body: {
            results: found.map((row) => ({ id: String(row.id), last_edited_time: new Date(row.at).toISOString(), tag: tagOf(row) })),
            has_more: next !== null,
            next_cursor: next,
          },
        };
      },
    },
  };
}

interface NotionQuery {
  readonly filter?: { readonly timestamp: string; readonly last_edited_time?: { readonly on_or_after?: string } };
  readonly sorts?: readonly { readonly timestamp: string; readonly direction: string }[];
  readonly page_size?: number;
  readonly start_cursor?: string;
}

function slack(service: EmulatedService): ReturnType<Emulator> {
  const channels = service.table({ stream: 'channels', edits: ['add'], lists: 'whole', first: 4 });
  const messages = [1, 2].map(() => service.table({ stream: 'messages', edits: ['add'] }));
  const newestFirst = by(updated, -1);
  const ts = ({ at, id }: Version): string => `${at / 1_000}.${String(id).padStart(6, '0')}`;
  let requests = 0;
  return {
    knows: authorized('Bearer secret-SLACK_TOKEN'),
    routes: {
      'GET /api/conversations.list': ({ query }) => {
        service.count('list', 20, MINUTE_MS);
        service.size(query.get('limit') ?? 100, 999);
        const { rows, more } = afterRow(channels.rows(), byId, query.get('cursor'));
        return {
          body: {
            ok: true,
            channels: rows.map((row) => ({ id: `C${row.id}`, tag: tagOf(row) })),
            response_metadata: { next_cursor: more ?? '' },
          },
        };
      },
      'GET /api/conversations.history': ({ query }) => {
        service.count('history', 50, MINUTE_MS);
        const { channel = '', oldest = '0', limit = '100', cursor } = Object.fromEntries(query);
        service.size(limit, 999);
        service.must(/^\d+(?:\.\d+)?$/.test(oldest), `oldest ${oldest}`);
        if ((requests += 1) % 7 === 3)
          return service.announce({ status: 429, headers: { 'retry-after': '30' }, body: { ok: false, error: 'ratelimited' } });
        const table = messages[Number(channel.slice(1)) - 1];
        const found = (table?.rows() ?? []).filter((row) => Number(ts(row)) > Number(oldest));
        const { rows, more } = afterRow(found.toSorted(newestFirst), newestFirst, cursor);
        return {
          body: {
            ok: true,
            messages: rows.map((row) => ({ ts: ts(row), tag: tagOf(row) })),
            has_more: more !== undefined,
            ...(more !== undefined && { response_metadata: { next_cursor: more } }),
          },
        };
      },
    },
  };
}

function pokeapi(service: EmulatedService): ReturnType<Emulator> {
  const child = { stream: 'pokemon', tags: ({ id }: Version) => [`pokemon-${id}`] };
  const list = service.table({ stream: 'list', edits: ['add'], lists: 'whole', child });
  return {
    routes: {
      'GET /api/v2/pokemon': ({ query, url }) => {
        service.must(
          [...query.keys()].every((name) => name === 'limit' || name === 'offset'),
          `the parameters ${query.toString()}`,
        );
        const { rows, more } = fromOffset(list.rows(), Number(query.get('offset') ?? 0));
        const next = more === undefined ? null : `${url}/api/v2/pokemon?offset=${more}&limit=${query.get('limit') ?? 20}`;
        return { body: { count: list.rows().length, next, results: rows.map((row) => ({ name: `n${row.id}`, tag: tagOf(row) })) } };
      },
      'GET /api/v2/pokemon/{name}': ({ params }) => {
        const id = Number(params['name']?.slice(1));
        return { body: { id, tag: `pokemon-${id}` } };
      },
    },
  };
}

function hackernews(service: EmulatedService): ReturnType<Emulator> {
  // An item that was deleted can be null.
  const isNull = (id: number): boolean => id % 4 === 0;
  const child = { stream: 'items', tags: ({ id }: Version) => (isNull(id) ? [] : [`item-${id}`]) };
  const top = service.table({ stream: 'top', edits: ['add', 'remove'], lists: 'whole', tags: ({ id }) => [String(id)], child });
  return {
    routes: {
      'GET /v0/topstories.json': () => ({ body: top.rows().map(({ id }) => id) }),
      'GET /v0/item/{id}.json': ({ params }) => {
        const id = Number(params['id']);
        return { body: isNull(id) ? 'null' : { id, tag: `item-${id}` } };
      },
    },
  };
}

function jira(service: EmulatedService): ReturnType<Emulator> {
  // A token may count the issues before its page. Then an issue that is deleted in the meantime moves the others.
  const { isCounted, choice } = service.unknowns;
  const issues = service.table({
    stream: 'issues',
    precisionMs: 1,
    lagMs: 5 * MINUTE_MS,
    edits: isCounted ? ['add', 'change'] : ['add', 'change', 'remove'],
  });
  const removed = () => service.refuse('an address that was removed in 2025', 410);
  /** A time in quotation marks, which Jira reads in the zone of the user. Clocks that are set back show it twice, so it is the first or the second. */
  const userTime = (minute: string): number => {
    const first = BERLIN.instantOf(Date.parse(`${minute.replaceAll('-', '/')} GMT`));
    const isTwice = BERLIN.localAt(first + HOUR_MS) === BERLIN.localAt(first);
    return first + (isTwice && choice % 2 === 1 ? HOUR_MS : 0);
  };
  return {
    knows: basic('me@acme.example:secret-JIRA_TOKEN'),
    routes: {
      'GET /rest/api/2/search': removed,
      'GET /rest/api/3/search': removed,
      'GET /rest/api/3/search/jql': ({ query }) => {
        service.size(query.get('maxResults') ?? 50, 100);
        const jql = query.get('jql') ?? '';
        const [found, minute = '', ms, field = '', direction] =
          /^updated >= (?:"(\d{4}[/-]\d\d[/-]\d\d \d\d:\d\d)"|(\d+)) order by (updated|created) (asc|desc)$/.exec(jql) ?? [];
        service.must(found !== undefined, jql);
        const from = ms === undefined ? userTime(minute) : Number(ms);
        const order = by(field === 'updated' ? updated : created, direction === 'asc' ? 1 : -1);
        const rows = issues
          .rows()
          .filter(({ at }) => at >= from)
          .toSorted(order);
        const token = query.get('nextPageToken');
        const page = isCounted ? fromOffset(rows, Number(token ?? 0)) : afterRow(rows, order, token);
        const record = (row: Version) => ({
          id: String(row.id),
          ...(query.has('fields') && {
            fields: {
              updated: `${new Date(BERLIN.localAt(row.at)).toISOString().slice(0, -1)}${offsetOf(BERLIN, row.at).replace(':', '')}`,
            },
          }),
          tag: tagOf(row),
        });
        return {
          body: {
            issues: page.rows.map((row) => record(row)),
            isLast: page.more === undefined,
            ...(page.more !== undefined && { nextPageToken: String(page.more) }),
          },
        };
      },
    },
  };
}

/** A time as PayPal's specification permits it. */
const PAYPAL_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i;

function paypal(service: EmulatedService): ReturnType<Emulator> {
  const transactions = service.table({ stream: 'transactions', edits: ['add'], lagMs: 3 * HOUR_MS });
  return {
    knows: (call) => call.path === '/v1/oauth2/token' || authorized('Bearer granted')(call),
    routes: {
      'POST /v1/oauth2/token': tokenRoute(service, 'secret-PAYPAL_ID:secret-PAYPAL_SECRET'),
      'GET /v1/reporting/transactions': ({ query }) => {
        const { start_date: start = '', end_date: end = '', page = '1', page_size: size = '100' } = Object.fromEntries(query);
        service.must(PAYPAL_TIME.test(start) && PAYPAL_TIME.test(end), `the range ${start} to ${end}`);
        const [from, to] = [Date.parse(start), Date.parse(end)];
        service.must(to >= from && to - from <= 31 * DAY_MS, `the range ${start} to ${end}`);
        service.must(from >= service.now() - 3 * YEAR_MS, `more than three years ago: ${start}`);
        service.size(size, 500);
        const rows = transactions.rows().filter(({ at }) => at >= from && at <= to);
        const found = numbered(rows.toSorted(oldestFirst), Number(page));
        const record = (row: Version) => ({
          transaction_info: {
            transaction_id: `T${row.id}`,
            transaction_event_code: 'T0006',
            transaction_initiation_date: iso(row.at).replace('Z', '+0000'),
            transaction_updated_date: iso(row.at).replace('Z', '+0000'),
          },
          tag: tagOf(row),
        });
        return { body: { transaction_details: found.rows.map((row) => record(row)), total_items: rows.length, total_pages: found.pages } };
      },
    },
  };
}

function quickbooks(service: EmulatedService): ReturnType<Emulator> {
  const zone = zoneOf('America/Los_Angeles');
  const invoices = service.table({ stream: 'invoices' });
  return {
    knows: authorized('Bearer secret-TOKEN'),
    routes: {
      'GET /v3/company/{company}/query': ({ query, headers }) => {
        service.count('company', 500, MINUTE_MS);
        service.must(String(headers['accept']).includes('json'), 'XML');
        const [found, since = '', ordered, position, size] =
          /^select \* from Invoice where MetaData\.LastUpdatedTime >= '([^']*)'( orderby MetaData\.LastUpdatedTime)? startposition (\d+) maxresults (\d+)$/i.exec(
            query.get('query') ?? '',
          ) ?? [];
        service.must(found !== undefined && Number(position) >= 1, query.get('query') ?? '');
        service.size(size, 1_000);
        service.must(/T.*(?:Z|[+-]\d\d:\d\d)$/.test(since), `the time ${since}`);
        const rows = invoices.rows().filter(({ at }) => at >= Date.parse(since));
        const page = fromOffset(rows.toSorted(ordered === undefined ? byId : oldestFirst), Number(position) - 1).rows;
        const record = (row: Version) => ({
          Id: String(row.id),
          MetaData: { LastUpdatedTime: `${local(zone, row.at)}${offsetOf(zone, row.at)}` },
          tag: tagOf(row),
        });
        // An empty list is missing from the response.
        return { body: { QueryResponse: page.length === 0 ? {} : { Invoice: page.map((row) => record(row)), maxResults: page.length } } };
      },
    },
  };
}

/** A time as WordPress accepts it: with seconds, and without a zone in that of the site. */
const WORDPRESS_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d(?::?\d\d)?)?$/i;

function wordpress(service: EmulatedService): ReturnType<Emulator> {
  const zone = SITES[service.unknowns.choice % SITES.length] ?? BERLIN;
  const posts = service.table({ stream: 'posts' });
  const modified = ({ at }: Version): number => zone.localAt(at);
  return {
    knows: basic('me:secret-PASSWORD'),
    routes: {
      'GET /wp-json/wp/v2/posts': ({ query }) => {
        const { modified_after: after, orderby = 'date', order = 'desc', page, offset, per_page: size = '10' } = Object.fromEntries(query);
        service.size(size, 100);
        service.must(after === undefined || WORDPRESS_TIME.test(after), `modified_after ${after}`);
        const isZoned = /(?:Z|[+-]\d\d(?::?\d\d)?)$/i.test(after?.slice(10) ?? '');
        // The site compares and sorts by its local time, which clocks that are set back show twice.
        const from = after === undefined ? -Infinity : isZoned ? zone.localAt(Date.parse(after)) : Date.parse(`${after}Z`);
        const keys: Readonly<Record<string, (version: Version) => number>> = { modified, date: created, id: ({ id }) => id };
        const rows = posts
          .rows()
          .filter((row) => modified(row) > from)
          .toSorted(by(keys[orderby] ?? created, order === 'asc' ? 1 : -1));
        const counted = numbered(rows, Number(page ?? 1));
        if (Number(page ?? 1) > Math.max(1, counted.pages))
          service.refuse('a page after the last one', 400, { code: 'rest_post_invalid_page_number' });
        const found = offset === undefined ? counted.rows : fromOffset(rows, Number(offset)).rows;
        return {
          headers: { 'x-wp-total': String(rows.length), 'x-wp-totalpages': String(counted.pages) },
          body: found.map((row) => ({
            id: row.id,
            modified_gmt: iso(row.at).slice(0, -1),
            modified: local(zone, row.at),
            tag: tagOf(row),
          })),
        };
      },
    },
  };
}

function xero(service: EmulatedService): ReturnType<Emulator> {
  const organizations = service.table({ stream: 'organizations', edits: [], lists: 'whole', first: 2 });
  // An invoice can't vanish: its status becomes DELETED or VOIDED.
  const invoices = [1, 2].map(() => service.table({ stream: 'invoices', precisionMs: 1, edits: ['add', 'change'] }));
  return {
    knows: (call) => call.path === '/connect/token' || authorized('Bearer granted')(call),
    routes: {
      'POST /connect/token': tokenRoute(service, 'secret-ID:secret-SECRET'),
      'GET /connections': () => ({ body: organizations.rows().map((row) => ({ tenantId: `org-${row.id}`, tag: tagOf(row) })) }),
      'GET /api.xro/2.0/Invoices': ({ query, headers }) => {
        const tenant = Number(String(headers['xero-tenant-id']).slice('org-'.length));
        service.count(`tenant ${tenant}`, 60, MINUTE_MS);
        const since = headers['if-modified-since'] as string | undefined;
        service.must(since === undefined || /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(since), `if-modified-since ${since}`);
        const from = since === undefined ? -Infinity : Date.parse(`${since}Z`);
        const rows = (invoices[tenant - 1]?.rows() ?? []).filter(({ at }) => (service.unknowns.isExclusive ? at > from : at >= from));
        const order = query.get('order') === 'UpdatedDateUTC ASC' ? oldestFirst : byId;
        const page = numbered(rows.toSorted(order), Number(query.get('page') ?? 1)).rows;
        return {
          body: { Invoices: page.map((row) => ({ InvoiceID: `i${row.id}`, UpdatedDateUTC: `/Date(${row.at}+0000)/`, tag: tagOf(row) })) },
        };
      },
    },
  };
}

function followers(service: EmulatedService): ReturnType<Emulator> {
  const ids = service.table({ stream: 'ids', edits: ['add', 'remove'], lists: 'whole', tags: ({ id }) => [String(id)] });
  const newestFirst = by(created, -1);
  return {
    knows: authorized('Bearer secret-TOKEN'),
    routes: {
      'GET /1.1/followers/ids.json': ({ query }) => {
        service.count('ids', 15, 15 * MINUTE_MS);
        service.size(query.get('count') ?? 5_000, 5_000);
        const cursor = query.get('cursor') ?? '-1';
        const { rows, more } = afterRow(ids.rows().toSorted(newestFirst), newestFirst, cursor === '-1' ? undefined : cursor);
        return { body: { ids: rows.map(({ id }) => String(id)), next_cursor_str: more ?? '0' } };
      },
    },
  };
}

function authors(service: EmulatedService): ReturnType<Emulator> {
  const books = service.table({ stream: 'books', lists: 'moving' });
  return {
    knows: authorized('secret-BOOKS_KEY'),
    routes: {
      'GET /author/{author}': ({ query }) => {
        service.count('key', 1, 1_000);
        service.size(query.get('pageSize') ?? 20, 1_000);
        const { rows } = numbered(books.rows(), Number(query.get('page') ?? 1));
        if (rows.length === 0) return service.announce({ status: 404, body: { errorMessage: 'Not Found' } });
        return { body: { books: rows.map((row) => ({ isbn13: String(row.id), tag: tagOf(row) })) } };
      },
    },
  };
}

function numbersTo(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i + 1);
}

/** An emulator for each recipe of the documentation, by the name of its section. */
export const SERVICES: Readonly<Record<string, Emulator>> = {
  github,
  stripe,
  zendesk,
  hubspot,
  notion,
  slack,
  pokeapi,
  hackernews,
  jira,
  paypal,
  quickbooks,
  blog: wordpress,
  xero,
  'follower-ids': followers,
  authors,
};
