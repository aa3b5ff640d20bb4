import type { ApiAnswer, ApiCall } from './api.fixture.ts';
import {
  BEGAN,
  DAY_MS,
  type PublicService,
  bearer,
  byId,
  clientCredentials,
  iso,
  keyed,
  numbers,
  once,
  token,
} from './public-services.fixture.ts';

const at = (i: number): string => new Date(Date.UTC(2024, 1, 1, 0, i)).toISOString();
const signsWith =
  (name: string, value: string) =>
  ({ headers, path }: ApiCall): boolean =>
    headers[name] === value || path.startsWith('/token');
const basicOf = (text: string) => signsWith('authorization', `Basic ${Buffer.from(text).toString('base64')}`);
const BAD: ApiAnswer = { status: 400, body: { error: 'bad request' } };
const of = (member: string) => (record: never) => record[member];
const refreshed = token(
  (_, fields) =>
    fields['grant_type'] === 'refresh_token' && fields['refresh_token'] === 'secret-REFRESH' && fields['client_id'] === 'secret-ID',
);

function zendesk(): PublicService {
  const events = numbers(5).map((id) => ({ id, timestamp: 1_710_000_000 + Math.floor(id / 2) }));
  return {
    knows: basicOf('me@acme.com/token:secret-TOKEN'),
    routes: {
      'GET /api/v2/incremental/ticket_events.json': ({ query, url, path }) => {
        const start = Number(query.get('start_time') ?? NaN);
        if (Number.isNaN(start)) return BAD;
        const rest = events.filter(({ timestamp }) => timestamp >= start);
        const page = rest.slice(0, 3);
        const end = page.at(-1)?.timestamp ?? start;
        return {
          body: {
            ticket_events: page,
            count: page.length,
            end_time: end,
            next_page: `${url}${path}?start_time=${end}`,
            end_of_stream: page.length === rest.length,
          },
        };
      },
    },
    truth: { events: byId(events) },
  };
}

function klaviyo(): PublicService {
  const profiles = numbers(5).map((i) => ({ type: 'profile', id: `01H${i}`, attributes: { updated: at(i) } }));
  return {
    knows: (call) => signsWith('authorization', 'Klaviyo-API-Key secret-KEY')(call) && call.headers['revision'] === '2024-10-15',
    routes: {
      'GET /api/profiles': ({ query, url, path }) => {
        const [, from] = /^greater-or-equal\(updated,(.+)\)$/.exec(query.get('filter') ?? '') ?? [];
        const size = Number(query.get('page[size]'));
        if (from === undefined || query.get('sort') !== 'updated' || size > 100) return BAD;
        const all = profiles.filter(({ attributes: { updated } }) => updated >= from);
        const start = Number(query.get('page[cursor]') ?? 0);
        const next = new URLSearchParams(query);
        next.set('page[cursor]', String(start + size));
        const links = { self: url, next: start + size < all.length ? `${url}${path}?${next.toString()}` : null, prev: null };
        return { body: { data: all.slice(start, start + size), links } };
      },
    },
    truth: { profiles: byId(profiles) },
  };
}

function square(): PublicService {
  const orders = numbers(5).map((i) => ({ id: `o${i}`, location_id: 'L1' }));
  return {
    knows: bearer('secret-TOKEN'),
    routes: {
      'POST /v2/orders/search': ({ body, headers }) => {
        const {
          location_ids: [location] = [],
          cursor,
          limit,
          query,
        } = body as Readonly<Record<string, never>> & {
          readonly location_ids?: readonly string[];
          readonly cursor?: string;
          readonly limit: number;
        };
        if (headers['square-version'] !== '2025-01-23' || typeof limit !== 'number' || query === undefined) return BAD;
        if (location !== 'L1') return { body: {} };
        const from = Number(cursor?.slice(1) ?? 0);
        return { body: { orders: orders.slice(from, from + limit), ...(from + limit < orders.length && { cursor: `c${from + limit}` }) } };
      },
    },
    truth: { orders: byId(orders) },
  };
}

function shopify(): PublicService {
  const orders = numbers(5).map((i) => ({ id: 5_500_000_000_000 + i, updated_at: `2024-02-01T00:0${i}:00-05:00` }));
  const isFirst = once();
  return {
    knows: signsWith('x-shopify-access-token', 'secret-TOKEN'),
    routes: {
      'GET /admin/api/2024-10/orders.json': ({ query, url, path }) => {
        const info = query.get('page_info');
        const [start = '', since = ''] = (info ?? `0/${query.get('updated_at_min') ?? ''}`).split('/');
        if (info !== null && [...query.keys()].some((name) => !['limit', 'page_info'].includes(name))) return BAD;
        if (since !== '' && isFirst('limit'))
          return { status: 429, headers: { 'retry-after': '0.1' }, body: { errors: 'Exceeded 2 calls' } };
        const [from, size] = [Number(start), Number(query.get('limit'))];
        const found = orders.filter(({ updated_at: updated }) => updated >= since);
        const to = (at: number, rel: string): string =>
          `<${url}${path}?limit=${size}&page_info=${encodeURIComponent(`${at}/${since}`)}>; rel="${rel}"`;
        const links = [
          ...(from > 0 ? [to(from - size, 'previous')] : []),
          ...(from + size < found.length ? [to(from + size, 'next')] : []),
        ];
        const headers = { 'x-shopify-shop-api-call-limit': '32/40', ...(links.length > 0 && { link: links.join(', ') }) };
        return { headers, body: { orders: found.slice(from, from + size) } };
      },
      'GET /admin/api/2024-10/orders/{order}/metafields.json': ({ params }) => ({
        body: { metafields: [{ id: Number(params['order']) * 10 }] },
      }),
    },
    refusals: 1,
    truth: { orders: byId(orders), metafields: byId(orders.map(({ id }) => ({ id: id * 10 }))) },
  };
}

function okta(): PublicService {
  const users = numbers(5).map((i) => ({ id: `00u${i}`, lastUpdated: at(i) }));
  const isFirst = once();
  return {
    knows: signsWith('authorization', 'SSWS secret-TOKEN'),
    routes: {
      'GET /api/v1/users': ({ query, url, path }) => {
        const [, since] = /^lastUpdated ge "(\S+)"$/.exec(query.get('search') ?? '') ?? [];
        if (since === undefined) return BAD;
        const found = users.filter(({ lastUpdated }) => lastUpdated >= since);
        const [from, size] = [Number(query.get('after') ?? 0), Number(query.get('limit'))];
        const reset = String(Math.ceil(Date.now() / 1_000));
        if (!since.startsWith('2024-01-01T00:00') && isFirst('limit'))
          return { status: 429, headers: { 'x-rate-limit-limit': '600', 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': reset } };
        const next = new URLSearchParams(query);
        next.set('after', String(from + size));
        const more = from + size < found.length ? `, <${url}${path}?${next.toString()}>; rel="next"` : '';
        return { headers: { link: `<${url}${path}?limit=${size}>; rel="self"${more}` }, body: found.slice(from, from + size) };
      },
      'GET /api/v1/users/{user}/groups': ({ params }) => ({ body: params['user'] === '00u1' ? [{ id: 'g1' }, { id: 'g2' }] : [] }),
    },
    refusals: 1,
    truth: { users: byId(users), groups: ['g1', 'g2'].map((id) => ['00u1', { id, user: '00u1' }] as const) },
  };
}

function elasticsearch(): PublicService {
  // Pairs of hits have the same time, so only the second sort value tells them apart.
  const hits = numbers(5).map((i) => ({
    _id: `d${i}`,
    _source: { at: at(Math.ceil(i / 2)), id: i },
    sort: [Date.parse(at(Math.ceil(i / 2))), i],
  }));
  return {
    knows: basicOf('elastic:secret-PASSWORD'),
    routes: {
      'POST /logs/_search': ({ body }) => {
        const {
          size,
          search_after: after,
          sort,
          query,
        } = body as {
          readonly size: number;
          readonly search_after?: readonly [number, number];
          readonly sort: readonly unknown[];
          readonly query: { readonly range: { readonly at: { readonly gte: string } } };
        };
        if (sort.length !== 2 || query.range.at.gte !== '2024-01-01T00:00:00Z') return BAD;
        const rest = hits.filter(({ sort: [time = 0, id = 0] }) => {
          const [afterTime, afterId] = after ?? [0, 0];
          return time > afterTime || (time === afterTime && id > afterId);
        });
        return { body: { took: 1, hits: { total: { value: 5 }, hits: rest.slice(0, size) } } };
      },
    },
    truth: { logs: keyed(hits, of('_id')) },
  };
}

function dynamo(): PublicService {
  const items = numbers(5).map((i) => ({ pk: { S: 'a' }, sk: { N: String(i) } }));
  return {
    knows: signsWith('x-api-key', 'secret-KEY'),
    routes: {
      'POST /scan': ({ body }) => {
        const {
          TableName,
          Limit,
          ExclusiveStartKey: start,
        } = body as {
          readonly TableName: string;
          readonly Limit: number;
          readonly ExclusiveStartKey?: { readonly pk: { readonly S: string }; readonly sk: { readonly N: string } };
        };
        if (TableName !== 'items' || (start !== undefined && start.pk.S !== 'a')) return BAD;
        const from = Number(start?.sk.N ?? 0);
        const page = items.slice(from, from + Limit);
        return { body: { Items: page, Count: page.length, ...(from + Limit < items.length && { LastEvaluatedKey: page.at(-1) }) } };
      },
    },
    truth: { items: keyed(items, ({ sk: { N } }: { readonly sk: { readonly N: string } }) => JSON.stringify(['a', N])) },
  };
}

function dynamics(): PublicService {
  const contacts = numbers(5).map((i) => ({ '@odata.etag': `W/"${i}"`, contactid: `c${i}`, modifiedon: `2024-02-01T00:00:0${i}Z` }));
  return {
    knows: bearer('given'),
    routes: {
      'POST /token': token((_, fields) => fields['client_secret'] === 'secret-SECRET' && fields['scope'] === 'all'),
      'GET /api/data/v9.2/contacts': ({ query, headers, url, path }) => {
        const [, size] = /^odata\.maxpagesize=(\d+)$/.exec(String(headers['prefer'])) ?? [];
        const [, since] = /^modifiedon ge (\S+)$/.exec(query.get('$filter') ?? '') ?? [];
        if (size === undefined || since === undefined) return BAD;
        const found = contacts.filter(({ modifiedon }) => modifiedon >= since);
        const from = Number(/pagenumber=(\d+)/.exec(query.get('$skiptoken') ?? '')?.[1] ?? 0);
        const next = new URLSearchParams(query);
        next.set('$skiptoken', `<cookie pagenumber=${from + Number(size)} />`);
        const value = found.slice(from, from + Number(size));
        const more = from + Number(size) < found.length ? { '@odata.nextLink': `${url}${path}?${next.toString()}` } : {};
        return { headers: { 'preference-applied': `odata.maxpagesize=${size}` }, body: { '@odata.context': url, value, ...more } };
      },
    },
    truth: { contacts: keyed(contacts, of('contactid')) },
  };
}

function calendar(): PublicService {
  const calendars = ['me@example.com', 'en.usa#holiday@group.v.calendar.google.com', 'a/b c'].map((id) => ({ id }));
  const events = numbers(3).map((i) => ({ id: `e${i}`, status: i === 2 ? 'cancelled' : 'confirmed', updated: at(i) }));
  const isFirst = once();
  const paged = (items: readonly unknown[], { query }: ApiCall): ApiAnswer => {
    const [from, size] = [Number(query.get('pageToken') ?? 0), Number(query.get('maxResults'))];
    const end = from + size < items.length ? { nextPageToken: String(from + size) } : { nextSyncToken: 'sync' };
    return { body: { kind: 'list', items: items.slice(from, from + size), ...end } };
  };
  return {
    knows: bearer('given'),
    routes: {
      'POST /token': refreshed,
      'GET /calendar/v3/users/me/calendarList': (call) => paged(calendars, call),
      'GET /calendar/v3/calendars/{calendar}/events': (call) => {
        if (!calendars.some(({ id }) => id === call.params['calendar']) || call.query.get('singleEvents') !== 'true') return BAD;
        if (isFirst('limit')) return { status: 403, body: { error: { code: 403, errors: [{ reason: 'rateLimitExceeded' }] } } };
        return paged(events, call);
      },
    },
    truth: {
      calendars: byId(calendars),
      events: calendars.flatMap(({ id: of_ }) =>
        events.map((event) => [JSON.stringify([of_, event.id]), { ...event, calendar: of_ }] as const),
      ),
    },
  };
}

function cloudflare(): PublicService {
  const zones = numbers(3).map((i) => ({ id: `z${i}` }));
  const records = (zone: string) => numbers(zone === 'z2' ? 0 : 3).map((i) => ({ id: `${zone}-r${i}` }));
  const isFirst = once();
  const paged = (all: readonly unknown[], { query }: ApiCall): ApiAnswer => {
    const [page, size] = [Number(query.get('page')), Number(query.get('per_page'))];
    const result_info = { page, per_page: size, total_count: all.length, total_pages: Math.ceil(all.length / size) };
    return { body: { success: true, errors: [], result: all.slice((page - 1) * size, page * size), result_info } };
  };
  return {
    knows: bearer('secret-TOKEN'),
    routes: {
      'GET /client/v4/zones': (call) => paged(zones, call),
      'GET /client/v4/zones/{zone}/dns_records': (call) =>
        isFirst('limit')
          ? { body: { success: false, errors: [{ code: 971, message: 'throttled' }], result: null } }
          : paged(records(call.params['zone'] ?? ''), call),
    },
    truth: { zones: byId(zones), records: byId(['z1', 'z3'].flatMap(records)) },
  };
}

function spotify(): PublicService {
  const tracks = numbers(4).map((i) => ({ id: `t${i}`, album: { id: `al${i % 2}` } }));
  const items = [...tracks.slice(0, 3), null, ...tracks.slice(3)].map((track) => ({ added_at: at(1), track }));
  return {
    knows: bearer('given'),
    routes: {
      'POST /token': clientCredentials,
      'GET /v1/playlists/{playlist}/tracks': ({ query, url, path }) => {
        const [from, limit] = [Number(query.get('offset') ?? 0), Number(query.get('limit'))];
        const next = from + limit < items.length ? `${url}${path}?offset=${from + limit}&limit=${limit}` : null;
        return { body: { items: items.slice(from, from + limit), next, total: items.length } };
      },
      'GET /v1/albums/{album}': ({ params }) => ({ body: { id: params['album'] } }),
    },
    truth: { tracks: byId(tracks), albums: byId([{ id: 'al0' }, { id: 'al1' }]) },
  };
}

function confluence(): PublicService {
  const pages = numbers(5).map((i) => ({ id: String(i), version: { when: at(i) } }));
  return {
    knows: basicOf('me@acme.com:secret-TOKEN'),
    routes: {
      'GET /wiki/rest/api/content/search': ({ query, url }) => {
        const [, day, minute] = /^lastmodified >= "(\S+) (\S+)" order by lastmodified$/.exec(query.get('cql') ?? '') ?? [];
        if (day === undefined) return BAD;
        const found = pages.filter(({ version: { when } }) => when >= `${day.replaceAll('/', '-')}T${minute}`);
        const [from, limit] = [Number(query.get('start') ?? 0), Number(query.get('limit'))];
        const next = new URLSearchParams(query);
        next.set('start', String(from + limit));
        const more = from + limit < found.length ? { next: `/rest/api/content/search?${next.toString()}` } : {};
        return {
          body: { results: found.slice(from, from + limit), size: limit, _links: { base: `${url}/wiki`, context: '/wiki', ...more } },
        };
      },
    },
    truth: { pages: byId(pages) },
  };
}

function pipedrive(): PublicService {
  const deals = numbers(5).map((id) => ({ id, status: 'open' }));
  return {
    knows: ({ query }) => query.get('api_token') === 'secret-KEY',
    routes: {
      'GET /api/v1/deals': ({ query }) => {
        if (query.get('status') !== 'open')
          return {
            body: { success: true, data: null, additional_data: { pagination: { start: 0, limit: 2, more_items_in_collection: false } } },
          };
        const [start, limit] = [Number(query.get('start') ?? 0), Number(query.get('limit'))];
        const more = start + limit < deals.length;
        const pagination = { start, limit, more_items_in_collection: more, ...(more && { next_start: start + limit }) };
        return { body: { success: true, data: deals.slice(start, start + limit), additional_data: { pagination } } };
      },
    },
    truth: { deals: byId(deals) },
  };
}

function mailchimp(): PublicService {
  const lists = numbers(2).map((i) => ({ id: `l${i}` }));
  const members = (list: string) => numbers(3).map((i) => ({ id: `m${i}`, list_id: list, last_changed: `2024-02-01T00:00:0${i}+00:00` }));
  const paged = (name: string, all: readonly unknown[], { query }: ApiCall): ApiAnswer => {
    const [from, count] = [Number(query.get('offset')), Number(query.get('count'))];
    return { body: { [name]: all.slice(from, from + count), total_items: all.length } };
  };
  return {
    knows: basicOf('any:secret-KEY'),
    routes: {
      'GET /3.0/lists': (call) => paged('lists', lists, call),
      'GET /3.0/lists/{list}/members': (call) => paged('members', members(call.params['list'] ?? ''), call),
    },
    truth: {
      lists: byId(lists),
      members: keyed(['l1', 'l2'].flatMap(members), ({ list_id: list, id }: Readonly<Record<string, string>>) =>
        JSON.stringify([list, id]),
      ),
    },
  };
}

function zoom(): PublicService {
  const meetings = numbers(7).map((i) => ({ uuid: `/a+${i}==`, start_time: iso(BEGAN + i * DAY_MS).replace('.000', '') }));
  return {
    knows: bearer('given'),
    routes: {
      'POST /token': token((_, fields) => fields['grant_type'] === 'account_credentials' && fields['account_id'] === 'a1'),
      'GET /v2/report/users/{user}/meetings': ({ query }) => {
        const [from, to] = [query.get('from') ?? '', query.get('to') ?? ''];
        if (!/^\d{4}-\d\d-\d\d$/.test(from) || Date.parse(to) - Date.parse(from) > 31 * DAY_MS) return BAD;
        const found = meetings.filter(({ start_time: time }) => time.slice(0, 10) >= from && time.slice(0, 10) <= to);
        const [start, size] = [Number(query.get('next_page_token') ?? 0), Number(query.get('page_size'))];
        const next = start + size < found.length ? String(start + size) : '';
        return { body: { from, to, page_size: size, next_page_token: next, meetings: found.slice(start, start + size) } };
      },
    },
    truth: { meetings: keyed(meetings, of('uuid')) },
  };
}

function asana(): PublicService {
  const projects = numbers(3).map((i) => ({ gid: `p${i}` }));
  // All projects contain the same two tasks, and u1 follows both, so the same child job comes from several parents.
  const tasks = (project: string) => numbers(2).map((i) => ({ gid: `t${i}`, project, followers: [{ gid: 'u1' }, { gid: `u${i}` }] }));
  const paged = (all: readonly unknown[], { query }: ApiCall): ApiAnswer => {
    const [from, limit] = [Number(query.get('offset')?.slice(2) ?? 0), Number(query.get('limit'))];
    const next = from + limit < all.length ? { offset: `ey${from + limit}`, path: '/', uri: '/' } : null;
    return { body: { data: all.slice(from, from + limit), next_page: next } };
  };
  return {
    knows: bearer('secret-TOKEN'),
    routes: {
      'GET /api/1.0/projects': (call) => paged(projects, call),
      'GET /api/1.0/projects/{project}/tasks': (call) => paged(tasks(call.params['project'] ?? ''), call),
      'GET /api/1.0/users/{user}': ({ params }) => ({ body: { data: { gid: params['user'] } } }),
    },
    truth: {
      projects: keyed(projects, of('gid')),
      tasks: keyed(['p1', 'p2', 'p3'].flatMap(tasks), of('gid')),
      people: keyed([{ gid: 'u1' }, { gid: 'u2' }], of('gid')),
    },
  };
}

function gitlab(): PublicService {
  const issues = numbers(5).map((iid) => ({ iid, updated_at: at(iid) }));
  return {
    knows: signsWith('private-token', 'secret-TOKEN'),
    routes: {
      'GET /api/v4/projects/{project}/issues': ({ params, query }) => {
        if (params['project'] !== 'group/app') return BAD;
        const found = issues.filter(({ updated_at: updated }) => updated >= (query.get('updated_after') ?? ''));
        const [page, size] = [Number(query.get('page')), Number(query.get('per_page'))];
        const next = page * size < found.length ? String(page + 1) : '';
        return { headers: { 'x-next-page': next, 'x-page': String(page) }, body: found.slice((page - 1) * size, page * size) };
      },
    },
    truth: { issues: keyed(issues, of('iid')) },
  };
}

function amazon(): PublicService {
  const orders = numbers(5).map((i) => ({ AmazonOrderId: `90${i}`, LastUpdateDate: `2024-02-01T00:00:0${i}Z` }));
  return {
    knows: signsWith('x-amz-access-token', 'given'),
    routes: {
      'POST /token': refreshed,
      'GET /orders/v0/orders': ({ query }) => {
        const next = query.get('NextToken');
        if (next === null ? query.get('LastUpdatedAfter') === null : query.size > 1) return BAD;
        const from = Number(next?.slice(0, -2) ?? 0);
        const NextToken = from + 2 < orders.length ? { NextToken: `${from + 2}==` } : {};
        return {
          headers: { 'x-amzn-ratelimit-limit': '0.0167' },
          body: { payload: { Orders: orders.slice(from, from + 2), ...NextToken } },
        };
      },
    },
    truth: { orders: keyed(orders, of('AmazonOrderId')) },
  };
}

function stackexchange(): PublicService {
  const questions = numbers(5).map((i) => ({ question_id: i, last_activity_date: 1_710_000_000 + i }));
  const isFirst = once();
  return {
    knows: ({ query }) => query.get('key') === 'secret-KEY',
    routes: {
      'GET /2.3/questions': ({ query }) => {
        const [page, size] = [Number(query.get('page')), Number(query.get('pagesize'))];
        const min = Number(query.get('min') ?? NaN);
        if (query.get('site') !== 'stackoverflow' || Number.isNaN(min)) return BAD;
        const found = questions.filter(({ last_activity_date: at }) => at >= min);
        if (min > 1_710_000_000 && isFirst('limit')) return { status: 400, body: { error_id: 502, error_name: 'throttle_violation' } };
        const has_more = page * size < found.length;
        return {
          headers: { 'x-reset': '60' },
          body: { items: found.slice((page - 1) * size, page * size), has_more, quota_remaining: 9_000 },
        };
      },
    },
    truth: { questions: keyed(questions, of('question_id')) },
  };
}

function harvest(): PublicService {
  const entries = numbers(5).map((id) => ({ id, updated_at: `2024-02-01T00:00:0${id}Z` }));
  return {
    knows: (call) =>
      bearer('secret-TOKEN')(call) && call.headers['harvest-account-id'] === '123' && call.headers['user-agent'] === 'me@example.com',
    routes: {
      'GET /v2/time_entries': ({ query }) => {
        const [page, size] = [Number(query.get('page') ?? 1), Number(query.get('per_page'))];
        const next = page * size < entries.length ? page + 1 : null;
        return { body: { time_entries: entries.slice((page - 1) * size, page * size), next_page: next, total_entries: entries.length } };
      },
    },
    truth: { entries: byId(entries) },
  };
}

function pagerduty(): PublicService {
  const incidents = numbers(9).map((i) => ({ id: `Q${i}`, created_at: iso(BEGAN + i * DAY_MS) }));
  const entries = incidents.map(({ id }) => ({ id: `R${id}` }));
  const paged = (name: string, all: readonly unknown[], { query }: ApiCall): ApiAnswer => {
    const [from, size] = [Number(query.get('offset')), Number(query.get('limit'))];
    return { body: { [name]: all.slice(from, from + size), limit: size, offset: from, total: null, more: from + size < all.length } };
  };
  return {
    knows: (call) =>
      signsWith('authorization', 'Token token=secret-KEY')(call) && call.headers['accept'] === 'application/vnd.pagerduty+json;version=2',
    routes: {
      'GET /incidents': (call) => {
        const [start, end] = ['since', 'until'].map((name) => Date.parse(call.query.get(name) ?? ''));
        if (call.query.getAll('statuses[]').join() !== 'triggered,resolved' || start === undefined || end === undefined) return BAD;
        const found = incidents.filter(({ created_at: created }) => Date.parse(created) >= start && Date.parse(created) < end);
        return paged('incidents', found, call);
      },
      'GET /incidents/{incident}/log_entries': (call) => paged('log_entries', [{ id: `R${call.params['incident']}` }], call),
    },
    truth: { incidents: byId(incidents), entries: byId(entries) },
  };
}

function algolia(): PublicService {
  const hits = numbers(5).map((i) => ({ objectID: `p${i}`, price: 2 }));
  return {
    knows: (call) => signsWith('x-algolia-api-key', 'secret-KEY')(call) && call.headers['x-algolia-application-id'] === 'APP',
    routes: {
      'POST /1/indexes/products/browse': ({ body }) => {
        const { cursor, ...others } = body as { readonly cursor?: string };
        if (cursor === undefined ? !('filters' in others) : Object.keys(others).length > 0) return BAD;
        const from = Number(cursor ?? 0);
        return { body: { hits: hits.slice(from, from + 2), ...(from + 2 < hits.length && { cursor: String(from + 2) }) } };
      },
    },
    truth: { objects: keyed(hits, of('objectID')) },
  };
}

function youtube(): PublicService {
  const entries = numbers(5).map((i) => ({ id: `E${i}`, contentDetails: { videoId: `v${Math.min(i, 4)}` } }));
  const videos = numbers(4).map((i) => ({ id: `v${i}`, statistics: { viewCount: '1' } }));
  return {
    knows: ({ query }) => query.get('key') === 'secret-KEY',
    routes: {
      'GET /youtube/v3/playlistItems': ({ query }) => {
        const [from, size] = [Number(query.get('pageToken')?.slice(1) ?? 0), Number(query.get('maxResults'))];
        return {
          body: { items: entries.slice(from, from + size), ...(from + size < entries.length && { nextPageToken: `C${from + size}` }) },
        };
      },
      'GET /youtube/v3/videos': ({ query }) => ({ body: { items: videos.filter(({ id }) => query.get('id')?.split(',').includes(id)) } }),
    },
    truth: { entries: byId(entries), videos: byId(videos) },
  };
}

function openfda(): PublicService {
  const day = (ms: number): string => iso(ms).slice(0, 10).replaceAll('-', '');
  const events = [1, 2, 7, 8, 9].flatMap((i) =>
    numbers(3).map((j) => ({ safetyreportid: `${i}${j}`, receivedate: day(BEGAN + i * DAY_MS) })),
  );
  return {
    knows: ({ query }) => query.get('api_key') === 'secret-KEY',
    routes: {
      'GET /drug/event.json': ({ query }) => {
        const [, start = '', end = ''] = /^receivedate:\[(\d{8}) TO (\d{8})\]$/.exec(query.get('search') ?? '') ?? [];
        if (start < day(BEGAN)) return BAD;
        const [skip, size] = [Number(query.get('skip')), Number(query.get('limit'))];
        const found = events.filter(({ receivedate: date }) => date >= start && date <= end);
        if (skip >= found.length) return { status: 404, body: { error: { code: 'NOT_FOUND', message: 'No matches found!' } } };
        return { body: { meta: { results: { skip, limit: size, total: found.length } }, results: found.slice(skip, skip + size) } };
      },
    },
    truth: { events: keyed(events, of('safetyreportid')) },
  };
}

function freshdesk(): PublicService {
  const tickets = numbers(9).map((id) => ({ id, updated_at: at(id) }));
  return {
    knows: basicOf('secret-KEY:X'),
    routes: {
      'GET /api/v2/tickets': ({ query, url, path }) => {
        const [page, size] = [Number(query.get('page') ?? 1), Number(query.get('per_page'))];
        if (query.get('order_type') !== 'asc') return BAD;
        if (page > 3)
          return { status: 400, body: { description: 'Validation failed', errors: [{ field: 'page', code: 'invalid_value' }] } };
        const found = tickets.filter(({ updated_at: updated }) => updated >= (query.get('updated_since') ?? ''));
        query.set('page', String(page + 1));
        const headers = page * size < found.length ? { link: `<${url}${path}?${query.toString()}>; rel="next"` } : {};
        return { headers, body: found.slice((page - 1) * size, page * size) };
      },
    },
    truth: { tickets: byId(tickets) },
  };
}

export const MORE_PUBLIC_SERVICES: Readonly<Record<string, () => PublicService>> = {
  zendesk,
  klaviyo,
  square,
  shopify,
  okta,
  elasticsearch,
  dynamo,
  dynamics,
  calendar,
  cloudflare,
  spotify,
  confluence,
  pipedrive,
  mailchimp,
  zoom,
  asana,
  gitlab,
  amazon,
  stackexchange,
  harvest,
  pagerduty,
  algolia,
  youtube,
  openfda,
  freshdesk,
};
