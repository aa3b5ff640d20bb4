import type { ApiAnswer, ApiCall, ApiOptions } from './api.fixture.ts';

/** An emulator of a public service, and the records that its topics must contain. */
export interface PublicService extends Pick<ApiOptions, 'routes' | 'knows'> {
  /** Every record of each topic with its key, in any order. */
  readonly truth: Readonly<Record<string, readonly (readonly [key: string, value: unknown])[]>>;
  /** Number of 429 responses that the emulator sends on purpose. Default: 0. */
  readonly refusals?: number;
}

export const DAY_MS = 86_400_000;
/** Midnight UTC ten days ago. Services that are listed in windows have data from then on. */
export const BEGAN = Math.floor(Date.now() / DAY_MS - 10) * DAY_MS;
export const iso = (ms: number): string => new Date(ms).toISOString();
export const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
export const keyed = (records: readonly unknown[], key: (record: never) => unknown) =>
  records.map((record) => [String(key(record as never)), record] as const);
export const byId = (records: readonly unknown[]) => keyed(records, ({ id }: { readonly id: unknown }) => id);
export const once = () => {
  const seen = new Set<string>();
  return (name: string): boolean => seen.size !== seen.add(name).size;
};

export const bearer =
  (token: string) =>
  ({ headers, path }: ApiCall): boolean =>
    headers['authorization'] === `Bearer ${token}` || path.startsWith('/token');

/** A route that grants a token if `isKnown` accepts the client. */
export const token =
  (isKnown: (call: ApiCall, fields: Readonly<Record<string, string>>) => boolean) =>
  (call: ApiCall): ApiAnswer =>
    isKnown(call, call.body as Record<string, string>)
      ? { body: { access_token: 'given', expires_in: 3_600, token_type: 'bearer' } }
      : { status: 400, body: { error: 'invalid_client' } };
const basic = `Basic ${Buffer.from('secret-ID:secret-SECRET').toString('base64')}`;
export const clientCredentials = token(
  ({ headers }, { grant_type: grant }) => grant === 'client_credentials' && headers['authorization'] === basic,
);

function fhir(): PublicService {
  const patients = numbers(5).map((id) => ({
    resourceType: 'Patient',
    id: `p${id}`,
    meta: { lastUpdated: `2024-01-01T00:0${id}:00.000+00:00` },
  }));
  return {
    routes: {
      'GET /baseR4/Patient': ({ query, url }) => bundle(0, Number(query.get('_count')), url, query.get('_lastUpdated')?.slice(2)),
      'GET /baseR4': ({ query, url }) =>
        bundle(Number(query.get('_getpagesoffset')), Number(query.get('_count')), url, query.get('_getpages') ?? ''),
    },
    truth: { patients: byId(patients) },
  };

  function bundle(from: number, size: number, url: string, since = ''): ApiAnswer {
    const found = patients.filter(({ meta: { lastUpdated } }) => lastUpdated >= since);
    const entry = found
      .slice(from, from + size)
      .map((resource) => ({ fullUrl: `${url}/${resource.id}`, resource, search: { mode: 'match' } }));
    const next = {
      relation: 'next',
      url: `${url}/baseR4?_getpages=${encodeURIComponent(since)}&_getpagesoffset=${from + size}&_count=${size}`,
    };
    const link = [{ relation: 'self', url }, ...(from + size < found.length ? [next] : [])];
    return { body: { resourceType: 'Bundle', total: found.length, link, ...(entry.length > 0 && { entry }) } };
  }
}

function heroku(): PublicService {
  const apps = numbers(5).map((id) => ({ id: `0${id}`, name: `app${id}` }));
  return {
    knows: bearer('secret-TOKEN'),
    routes: {
      'GET /apps': ({ headers }) => {
        const { range = '', accept } = headers as { readonly range?: string; readonly accept?: string };
        const [, after, size] = /^id (?:\](\w+))?\.\.; max=(\d+)$/.exec(range) ?? [];
        if (accept !== 'application/vnd.heroku+json; version=3' || size === undefined)
          return { status: 406, body: { id: 'not_acceptable' } };
        const rest = apps.filter(({ id }) => id > (after ?? ''));
        const page = rest.slice(0, Number(size));
        if (page.length === rest.length) return { body: page };
        return { status: 206, headers: { 'next-range': `id ]${page.at(-1)?.id}..; max=${size}` }, body: page };
      },
    },
    truth: { apps: byId(apps) },
  };
}

function intercom(): PublicService {
  const contacts = numbers(5).map((id) => ({ id: `c${id}`, updated_at: 1_710_000_000 + id }));
  return {
    knows: bearer('secret-TOKEN'),
    routes: {
      'POST /contacts/search': ({ body }) => {
        const { query, pagination } = body as {
          readonly query: { readonly value: readonly [{ readonly value: unknown }] };
          readonly pagination: { readonly starting_after?: string; readonly per_page: number };
        };
        if (query.value[0].value !== Date.UTC(2024, 0, 1) / 1_000) return { status: 400, body: { type: 'error.list' } };
        const from = Number(pagination.starting_after?.slice(2) ?? 0);
        const next = from + pagination.per_page;
        const pages = { type: 'pages', next: next < contacts.length ? { starting_after: `o:${next}` } : null };
        return { body: { data: contacts.slice(from, next), total_count: contacts.length, pages } };
      },
    },
    truth: { contacts: byId(contacts) },
  };
}

function anilist(): PublicService {
  const pages = [[1, 2], [], [3, 4], []].map((ids) => ids.map((id) => ({ id })));
  const isFirst = once();
  return {
    routes: {
      'POST /': ({ body }) => {
        const { query, variables } = body as { readonly query: string; readonly variables: { readonly page: number } };
        if (query !== 'query ($page: Int) { Page(page: $page) { pageInfo { hasNextPage } media(sort: ID) { id } } }')
          return { body: { data: null, errors: [{ message: 'Syntax Error', status: 400 }] } };
        if (variables.page === 3 && isFirst('limit'))
          return { headers: { 'retry-after': '0' }, body: { data: null, errors: [{ message: 'Too Many Requests.', status: 429 }] } };
        const media = pages[variables.page - 1] ?? [];
        return { body: { data: { Page: { pageInfo: { hasNextPage: variables.page < pages.length }, media } } } };
      },
    },
    truth: { media: byId(pages.flat()) },
  };
}

function jikan(): PublicService {
  const top = numbers(5).map((id) => ({ mal_id: id, title: `t${id}` }));
  return {
    routes: {
      'GET /v3/top/anime/{page}': ({ params }) => {
        const page = Number(params['page']);
        return page > 3
          ? { status: 404, body: { status: 404, type: 'BadResponseException' } }
          : { body: { top: top.slice(page * 2 - 2, page * 2) } };
      },
    },
    truth: { top: keyed(top, ({ mal_id: id }: { readonly mal_id: number }) => id) },
  };
}

function quickbooks(): PublicService {
  const invoices = (company: string) =>
    numbers(company === 'c1' ? 5 : 0).map((id) => ({ Id: `${id}`, MetaData: { LastUpdatedTime: `2024-02-0${id}T10:00:00-08:00` } }));
  return {
    knows: bearer('secret-TOKEN'),
    routes: {
      'GET /v3/company/{company}/query': ({ params, query }) => {
        const [, since, start = '', size = ''] =
          /^select \* from Invoice where MetaData\.LastUpdatedTime >= '(.+)' startposition (\d+) maxresults (\d+)$/.exec(
            query.get('query') ?? '',
          ) ?? [];
        if (since !== '2024-01-01T00:00:00Z' || Number(start) < 1) return { status: 400, body: { Fault: { Error: [{ code: '4000' }] } } };
        const Invoice = invoices(params['company'] ?? '').slice(Number(start) - 1, Number(start) - 1 + Number(size));
        return { body: { QueryResponse: Invoice.length === 0 ? {} : { Invoice, startPosition: Number(start) }, time: iso(BEGAN) } };
      },
    },
    truth: { invoices: keyed(invoices('c1'), () => 'c1') },
  };
}

function xero(): PublicService {
  const tenants = ['t1', 't2'].map((tenantId) => ({ tenantId, tenantType: 'ORGANISATION' }));
  const invoices = (tenant: string) =>
    numbers(3).map((id) => ({ InvoiceID: `${tenant}-${id}`, UpdatedDateUTC: `/Date(${1_700_000_000_000 + id}+0000)/` }));
  return {
    knows: bearer('given'),
    routes: {
      'POST /token': clientCredentials,
      'GET /connections': () => ({ body: tenants }),
      'GET /api.xro/2.0/Invoices': ({ headers, query }) => {
        if (headers['if-modified-since'] !== undefined) return { status: 304 };
        const page = Number(query.get('page'));
        return { body: { Status: 'OK', Invoices: invoices(String(headers['xero-tenant-id'])).slice(page * 2 - 2, page * 2) } };
      },
    },
    truth: {
      tenants: keyed(tenants, ({ tenantId }: { readonly tenantId: string }) => tenantId),
      invoices: keyed(['t1', 't2'].flatMap(invoices), ({ InvoiceID: id, UpdatedDateUTC: at }: Readonly<Record<string, string>>) =>
        JSON.stringify([id, at]),
      ),
    },
  };
}

function wordpress(): PublicService {
  const posts = numbers(5).map((id) => ({ id, modified_gmt: `2024-03-01T10:00:0${id}` }));
  return {
    knows: ({ headers }) => headers['authorization'] === `Basic ${Buffer.from('me:secret-PASSWORD').toString('base64')}`,
    routes: {
      'GET /wp-json/wp/v2/posts': ({ query }) => {
        const [page, size] = [Number(query.get('page')), Number(query.get('per_page'))];
        const found = posts.filter(({ modified_gmt: at }) => at > (query.get('modified_after') ?? ''));
        const last = Math.ceil(found.length / size);
        if (page > last) return { status: 400, body: { code: 'rest_post_invalid_page_number', data: { status: 400 } } };
        const headers = { 'x-wp-total': String(found.length), 'x-wp-totalpages': String(last) };
        return { headers, body: found.slice((page - 1) * size, page * size) };
      },
    },
    truth: { posts: byId(posts) },
  };
}

function crates(): PublicService {
  const all = numbers(5).map((id) => ({ id: `crate${id}`, downloads: id }));
  return {
    knows: ({ headers }) => headers['user-agent'] === 'me@example.com',
    routes: {
      'GET /api/v1/crates': ({ query }) => {
        const [from, size] = [Number(query.get('seek') ?? 0), Number(query.get('per_page'))];
        const next = from + size < all.length ? `?per_page=${size}&seek=${from + size}` : null;
        return { body: { crates: all.slice(from, from + size), meta: { total: all.length, next_page: next } } };
      },
    },
    truth: { crates: byId(all) },
  };
}

function reddit(): PublicService {
  const posts = numbers(5).map((id) => ({ name: `t3_${id}`, created_utc: 1_700_000_000.5 - id }));
  return {
    knows: (call) =>
      (bearer('given')(call) && call.headers['user-agent'] === 'script:example:1 (by /u/me)') || call.path.startsWith('/token'),
    routes: {
      'POST /token': clientCredentials,
      'GET /r/{sub}/new': ({ params, query }) => {
        const all = params['sub'] === 'node' ? posts : [];
        const from = all.findIndex(({ name }) => name === query.get('after')) + 1;
        const page = all.slice(from, from + Number(query.get('limit')));
        const after = from + page.length < all.length ? page.at(-1)?.name : null;
        const headers = { 'x-ratelimit-remaining': '595.0', 'x-ratelimit-used': '5', 'x-ratelimit-reset': '1' };
        return {
          headers,
          body: { kind: 'Listing', data: { after, dist: page.length, children: page.map((data) => ({ kind: 't3', data })) } },
        };
      },
    },
    truth: { posts: keyed(posts, ({ name }: { readonly name: string }) => name) },
  };
}

function nasa(): PublicService {
  const day = (i: number): string => iso(BEGAN + i * DAY_MS).slice(0, 10);
  const asteroids = numbers(10).map((i) => ({ id: `a${i}`, close_approach_data: [{ close_approach_date: day(i - 1) }] }));
  return {
    knows: ({ query }) => query.get('api_key') === 'secret-KEY',
    routes: {
      'GET /neo/rest/v1/feed': ({ query, url }) => {
        const [from, to] = [query.get('start_date') ?? '', query.get('end_date') ?? ''];
        if (Date.parse(to) - Date.parse(from) > 7 * DAY_MS) return { status: 400, body: { code: 400, error_message: 'limit is 7 days' } };
        const found = Object.groupBy(
          asteroids,
          ({ close_approach_data: [{ close_approach_date: date } = { close_approach_date: '' }] }) => date,
        );
        const days = Object.entries(found).filter(([date]) => date >= from && date <= to);
        const links = { next: `${url}/neo/rest/v1/feed?api_key=secret-KEY` };
        return { body: { links, element_count: days.length, near_earth_objects: Object.fromEntries(days) } };
      },
    },
    truth: { asteroids: byId(asteroids) },
  };
}

function discord(): PublicService {
  const messages = numbers(5).map((i) => ({ id: String(1_150_000_000_000_000_000n - BigInt(i)), timestamp: iso(BEGAN + i) }));
  const found = [messages.slice(0, 2), messages.slice(2, 3)];
  const isFirst = once();
  return {
    knows: ({ headers }) => headers['authorization'] === 'Bot secret-TOKEN',
    routes: {
      'GET /api/v10/channels/{channel}/messages': ({ query }) => {
        const before = query.get('before');
        const rest = messages.filter(({ id }) => before === null || BigInt(id) < BigInt(before));
        return { body: rest.slice(0, Number(query.get('limit'))) };
      },
      'GET /api/v10/guilds/{guild}/messages/search': ({ params, query }) => {
        if (isFirst(params['guild'] ?? ''))
          return { status: 202, body: { message: 'Index not yet available. Try again later', code: 110_000, retry_after: 0.02 } };
        if (params['guild'] === '2') return { body: { total_results: 0, messages: [] } };
        const page = found[Number(query.get('offset')) / 2] ?? [];
        return { body: { total_results: 3, messages: page.map((one) => [one]) } };
      },
    },
    truth: { messages: byId(messages), found: byId(found.flat()) },
  };
}

function kraken(): PublicService {
  const trades = numbers(5).map((i) => ['30243.4', '0.34', 1_688_669_597.5 + i, 'b', 'm', '', 61_044_952 + i]);
  const ns = (i: number): string => `${1_688_669_597n + BigInt(i)}500000001`;
  const isFirst = once();
  return {
    routes: {
      'GET /0/public/Trades': ({ query }) => {
        if (query.get('pair') !== 'XXBTZUSD') return { body: { error: [], result: { NONE: [], last: query.get('since') } } };
        const from = trades.findIndex((_, i) => BigInt(ns(i)) > BigInt(query.get('since') ?? 0));
        if (from === 2 && isFirst('limit')) return { body: { error: ['EAPI:Rate limit exceeded'] } };
        if (from === 4 && isFirst('busy')) return { body: { error: ['EService:Unavailable'] } };
        const page = from === -1 ? [] : trades.slice(from, from + 2);
        return {
          body: { error: [], result: { XXBTZUSD: page, last: page.length === 0 ? query.get('since') : ns(from + page.length - 1) } },
        };
      },
    },
    truth: { trades: keyed(trades, (trade: readonly unknown[]) => trade[6]) },
  };
}

function gmail(): PublicService {
  const ids = numbers(5).map((i) => ({ id: `18c${i}`, threadId: `18c${i}` }));
  const parts = [{ body: { size: 3 } }, { body: { attachmentId: 'x/1' } }, { body: { attachmentId: 'x/2' } }];
  const messages = ids.map(({ id }, i) => ({ id, internalDate: '1700000000000', payload: i === 0 ? { parts } : {} }));
  const isFirst = once();
  return {
    knows: bearer('given'),
    routes: {
      'POST /token': token(
        (_, fields) =>
          fields['grant_type'] === 'refresh_token' &&
          fields['refresh_token'] === 'secret-REFRESH' &&
          fields['client_secret'] === 'secret-SECRET',
      ),
      'GET /gmail/v1/users/me/messages': ({ query }) => {
        const from = Number(query.get('pageToken') ?? 0);
        const next = from + Number(query.get('maxResults'));
        return {
          body: { messages: ids.slice(from, next), resultSizeEstimate: 5, ...(next < ids.length && { nextPageToken: String(next) }) },
        };
      },
      'GET /gmail/v1/users/me/messages/{id}': ({ params }) => {
        if (params['id'] === '18c3' && isFirst('403'))
          return { status: 403, body: { error: { code: 403, errors: [{ domain: 'usageLimits', reason: 'rateLimitExceeded' }] } } };
        return { body: messages.find(({ id }) => id === params['id']) };
      },
      'GET /gmail/v1/users/me/messages/{id}/attachments/{attachment}': ({ params }) => ({ body: { size: 3, data: params['attachment'] } }),
    },
    truth: {
      ids: byId(ids),
      messages: byId(messages),
      attachments: ['x/1', 'x/2'].map((id) => [`18c1/${id}`, { size: 3, data: id }] as const),
    },
  };
}

function quakes(): PublicService {
  // Two of the times are in the second in which one window of 7 days ends and the next begins.
  const at = [1, 2, 7 * DAY_MS, 7 * DAY_MS + 400, 8 * DAY_MS + 1];
  const features = at.map((ms, i) => ({ id: `us${i}`, properties: { mag: 4.5, time: BEGAN + ms } }));
  return {
    routes: {
      'GET /fdsnws/event/1/query': ({ query }) => {
        const [from, to] = ['starttime', 'endtime'].map((name) => Date.parse(`${query.get(name)}Z`));
        const found = features.filter(({ properties: { time } }) => time >= (from ?? 0) && time <= (to ?? 0) + 999);
        if (found.length === 0) return { status: 204 };
        const start = Number(query.get('offset')) - 1;
        return start < 0
          ? { status: 400 }
          : { body: { type: 'FeatureCollection', features: found.slice(start, start + Number(query.get('limit'))) } };
      },
    },
    truth: { quakes: byId(features) },
  };
}

function mediawiki(): PublicService {
  const titles = numbers(5).map((pageid) => ({ pageid, ns: 0, title: `T${pageid}` }));
  return {
    routes: {
      'GET /w/api.php': ({ query }) => {
        const from = Number(query.get('apcontinue')?.slice(1) ?? 1);
        const next = from + Number(query.get('aplimit'));
        const more = next <= titles.length ? { continue: { apcontinue: `T${next}`, continue: '-||' } } : { batchcomplete: '' };
        return { body: { ...more, query: { allpages: titles.slice(from - 1, next - 1) } } };
      },
    },
    truth: { titles: keyed(titles, ({ pageid }: { readonly pageid: number }) => pageid) },
  };
}

/** Each entry creates a new emulator, because some of them answer their first request differently. */
export const PUBLIC_SERVICES: Readonly<Record<string, () => PublicService>> = {
  fhir,
  heroku,
  intercom,
  anilist,
  jikan,
  quickbooks,
  xero,
  wordpress,
  crates,
  reddit,
  nasa,
  discord,
  kraken,
  gmail,
  quakes,
  mediawiki,
};
