import { describe, expect, it } from 'vitest';
import { parseOptions } from '@headgate/pipeline';
import { restOptions } from './language.ts';

const least = {
  baseUrl: 'https://api.example.com',
  credentials: [{ name: 'app', bearer: 'token' }],
  limit: { requests: 10, window: '1s' },
};

function issuesOf(stream: object, section: object = {}): string[] {
  // Drops keys whose value is undefined, because YAML can't contain such keys.
  const given: unknown = JSON.parse(JSON.stringify({ ...least, streams: { items: { get: '/items', ...stream } }, ...section }));
  const { issues } = parseOptions(restOptions, given);
  return (issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`);
}

describe('valid sections', () => {
  it.each([
    ['the smallest', {}],
    ['links', { pages: { link: 'next', size: { query: 'per_page', is: 100 } } }],
    [
      'the cursor of the last record',
      { records: '$.data[*]', key: '$.id', pages: { cursor: '$.data[-1].id', as: { query: 'after' }, while: '$.has_more' } },
    ],
    [
      'a cursor in the body',
      { get: undefined, post: '/q', body: { sort: [{ by: 'time' }] }, pages: { cursor: '$.next', as: { body: '$.page.start' } } },
    ],
    ['page numbers', { pages: { page: { query: 'page' }, last: '$.pages', most: 5 } }],
    [
      'offsets',
      { pages: { offset: { query: 'from' }, total: '$.total', short: 'last', size: { query: 'limit', is: 10 }, repeats: 'drop' } },
    ],
    ['fields', { get: '/{owner}/{repo}', for: { owner: ['a', 'b'], repo: ['1', '2'] }, add: { of: '{owner}/{repo}' }, key: '{owner}' }],
    [
      'times',
      {
        query: { q: 'updated > {since:%Y/%m/%d %H:%M}', to: '{until:seconds}' },
        since: { from: '$.at', first: '2024-01-01', overlap: '5m', window: '30d', zone: 'Europe/Berlin' },
      },
    ],
    [
      'filters',
      {
        errors: [
          { when: '$.errors[?@.code == 88]', then: 'wait' },
          { status: 404, then: 'empty' },
        ],
      },
    ],
    ['values', { errors: [{ when: { '$.ok': false, '$.error': ['a', 'b'] }, then: 'dead', code: '$.error' }] }],
  ])('%s', (_, stream) => {
    expect(issuesOf(stream)).toEqual([]);
  });

  it.each([{ body: {} }, { form: { all: 'yes' } }, { pages: { size: { body: '$.size', is: 9 } } }])(
    'a key in the body of a post with %j',
    (content) => {
      const credentials = [{ name: 'app', key: 'x', body: 'api_key' }];
      expect(issuesOf({ get: undefined, post: '/items', ...content }, { credentials })).toEqual([]);
    },
  );

  it.each(['/oauth/token', 'https://login.example.com/token?v=2'])('a token from %s', (url) => {
    expect(issuesOf({}, { credentials: [{ name: 'app', token: { url, id: 'i', secret: 's' } }] })).toEqual([]);
  });

  it('secrets of OAuth 1.0a that no header could carry, because they are percent-encoded or only sign', () => {
    const oauth1 = { consumerKey: 'é', consumerSecret: 'é', token: 'é', tokenSecret: 'é' };
    expect(issuesOf({}, { credentials: [{ name: 'app', oauth1 }] })).toEqual([]);
  });

  it('the end of a window in a parameter of the section', () => {
    const query = { from: '{since}', to: '{until}' };
    expect(issuesOf({ since: { from: '$.at', window: '30d' } }, { query })).toEqual([]);
  });
});

describe('mistakes, each with its path and fix', () => {
  it.each([
    [{ records: '$.items[' }, "streams.items.records: isn't a JSONPath: unclosed bracketed selection, character 9."],
    [
      { records: 'items' },
      "streams.items.records: isn't a JSONPath: expected '$', found 'i', character 1. A path starts with $, such as $.data[*].",
    ],
    ...Object.entries({
      '$.@odata.id': "unexpected shorthand selector '@', character 3",
      '$.2nd': "unexpected shorthand selector '2', character 3",
      '$.a:b': "expected '.', '..' or a bracketed selection, found ':', character 4",
    }).map(([records, flaw]): [object, string] => [
      { records },
      `streams.items.records: isn't a JSONPath: ${flaw}. Quote other names, as in $['@odata.nextLink'].`,
    ]),
    [
      { key: '$.items[*]' },
      'streams.items.key: selects any number of values, but this setting needs one. Write only names and numbers, such as $.page.next.',
    ],
    [{ get: '/{ownr}', for: { owner: ['a'] } }, 'streams.items.get: has {ownr}, but for has no such field. Did you mean {owner}?'],
    [
      { get: '/{a', for: { a: ['a'] } },
      "streams.items.get: has a brace that isn't part of a placeholder, character 2. Write {name}, or {{ for a brace of its own.",
    ],
    [{ get: 'items' }, 'streams.items.get: must begin with a slash.'],
    [{ post: '/items' }, 'streams.items: needs either get or post.'],
    [{ body: {} }, 'streams.items.body: works only with post.'],
    ...['fields name; limit 5;', null, 5].map((body): [object, string] => [
      { get: undefined, post: '/items', body },
      'streams.items.body: is a text or a single value. Write JSON with members, as in { state: open }: other formats are not sent.',
    ]),
    [
      { pages: { cursor: [{ header: 'a' }, { header: 'b' }], as: { query: 'a' } } },
      'streams.items.pages.cursor: must be text or a mapping of keys to values.',
    ],
    [{ query: { since: '{since}' } }, 'streams.items.query.since: has {since}, but the stream has no since.'],
    [
      { query: { a: '{since:hours}' }, since: { from: '$.at' } },
      'streams.items.query.a: has {since:hours}, which is no format. Write seconds, ms, date, http, or as in %Y-%m-%d.',
    ],
    [
      { query: { from: '{since}' }, since: { from: '$.at', window: '30d' } },
      'streams.items.since: has a window, but no parameter sends its end. Write {until} into a parameter.',
    ],
    ...[{ page: { query: 'page' } }, { link: 'next' }, { next: '$.next' }].flatMap((pages): [object, string][] => [
      [
        { pages, query: { since: '{since}' }, since: { from: '$.at' } },
        `streams.items.since: needs order, because a record that changes place between two pages (${Object.keys(pages)[0]}) can move another one past them. If the service can sort by this time, oldest first, write order: ascending. Otherwise write descending or fixed.`,
      ],
      [
        { pages, since: { from: '$.at', order: 'ascending' } },
        'streams.items.since: has order: ascending, so each page is requested by its time, but no parameter sends it. Write {since} into a parameter, or list the newest first and write order: descending.',
      ],
    ]),
    [{ pages: { page: { query: 'p' }, end: '0' } }, 'streams.items.pages.end: belongs to cursor or next or link.'],
    [{ pages: { next: '$.next', first: 'a' } }, 'streams.items.pages.first: belongs to cursor or page or offset.'],
    [{ pages: { next: '$.next', alone: true } }, 'streams.items.pages.alone: belongs to cursor or page or offset.'],
    [{ pages: { link: 'next', encoded: true } }, 'streams.items.pages.encoded: belongs to cursor.'],
    [{ pages: { cursor: '$.c', as: { query: 'c' }, origin: 'base' } }, 'streams.items.pages.origin: belongs to next or link.'],
    [
      { query: { from: '{since:%H:%M}' }, since: { from: '$.at' } },
      'streams.items.since: sends {since:%H:%M}, a time of day without a zone. Write the zone in which the service reads it, such as zone: Europe/Berlin, or that of the user whose credential it is.',
    ],
    [
      { query: { from: '{since}Z' }, since: { from: '$.at', zone: 'Asia/Tokyo' } },
      'streams.items.since: sends {since} as a time in UTC, but its zone is Asia/Tokyo. Write its format, such as {since:%Y-%m-%dT%H:%M:%S}Z.',
    ],
    [
      { query: { from: '{since}' }, since: { from: '$.at', first: '2024-01-01 10:00:00' } },
      'streams.items.since: has first: 2024-01-01 10:00:00, which names no zone. Add it, as in 2024-01-01T12:00:00Z, or write zone: Europe/Berlin.',
    ],
    [
      { query: { from: '{since}' }, since: { from: '$.at', zone: 'Mars/Base' } },
      "streams.items.since.zone: isn't a time zone. Write one such as UTC or Europe/Berlin.",
    ],
    [
      { query: { from: '{since}', to: '{until}' }, since: { from: '$.at', window: '30d', order: 'descending' } },
      "streams.items.since: can't combine order: descending with window: a record that changes leaves its window, and another one moves up unseen. Write order: ascending.",
    ],
    [
      { pages: { link: 'next' }, query: { since: '{since}' }, since: { from: '$.at', order: 'ascending', children: 'all' } },
      "streams.items.since: can't combine order: ascending with children: all, because pages of the whole list can't be requested by their time. Sort the list by something that changes don't touch, and write order: fixed.",
    ],
    [
      { query: { from: '{since}', to: '{until}' }, since: { from: '$.at', window: '30d', children: 'all' } },
      "streams.items.since: can't combine children: all with window, because it reads the whole list.",
    ],
    [{ pages: { cursor: '$.next' } }, 'streams.items.pages.cursor: needs a place in the next request. Add as: { query: cursor }.'],
    [{ pages: { next: '$.next', page: { query: 'page' } } }, 'streams.items.pages: has next and page. Keep one of them.'],
    ...['page', 'offset'].map((kind): [object, string] => [
      { pages: { [kind]: { query: 'from' }, first: 'one' } },
      `streams.items.pages.first: must be a number for ${kind}, because the next ones are counted from it.`,
    ]),
    [{ pages: { last: '$.pages', next: '$.next' } }, 'streams.items.pages.last: belongs to page.'],
    [{ pages: { while: '$.more' } }, "streams.items.pages: doesn't say how to get the next page. Add cursor, next, link, page or offset."],
    [{ for: { each: 'other', with: { id: '$.id' } } }, 'streams.items.for.each: names no stream. Write one of items.'],
    [
      { for: { each: 'items', with: { id: '$.id' } } },
      'streams.items.for.each: leads back to this stream, which would create its own jobs without end.',
    ],
    [
      { pages: { page: { field: 'page' } } },
      'streams.items.pages: has the field page, and no request of items has {page}. Write it into the path, query or body.',
    ],
    [
      { get: '/{id}', for: { id: ['a'] }, pages: { page: { field: 'id' } } },
      'streams.items.pages: has the field id, whose name is reserved. Choose another.',
    ],
    [
      { get: '/{pag}', pages: { page: { field: 'page' } } },
      'streams.items.get: has {pag}, but for has no such field. Did you mean {page}?',
    ],
    [
      { get: '/{page}', key: '{page}', pages: { page: { field: 'page' } } },
      'streams.items.key: has {page}, but for has no such field. Add for: { field: [value] }.',
    ],
    [{ pages: { page: { query: 'a', field: 'b' } } }, 'streams.items.pages.page: needs one place: query, header, body or field.'],
    [{ for: { stream: ['a'] } }, 'streams.items.for: has the field stream, whose name is reserved. Choose another.'],
    [
      { for: { id: ['a'], part: ['b'] }, query: { part: '{part}' }, batch: { of: 'id', most: 9, match: ['$.id'] } },
      'streams.items.batch.of: must be the only field that this stream or one below it uses. Used: id, part.',
    ],
    [
      { query: { 'state[]': ['{stat}'] }, for: { state: ['a'] } },
      'streams.items.query.state[]: has {stat}, but for has no such field. Did you mean {state}?',
    ],
    [{ key: 'data.id' }, 'streams.items.key: is the same text for every record. Write a path, such as $.id, or a text with fields of for.'],
    [
      { pages: { link: '$.next' } },
      'streams.items.pages.link: is a path, but the Link header has relations. Write link: next, or for an address in the body next: $.next.',
    ],
    [
      { query: { from: '{since}', to: '{untill}' }, since: { from: '$.at' } },
      'streams.items.query.to: has {untill}, but for has no such field. Did you mean {until}?',
    ],
    [{ query: { a: { b: 1 } } }, 'streams.items.query.a: must be text or a number or true or false or a list.'],
    [{ to: 'requests' }, 'streams.items.to: would write to requests, a topic that every pipeline has. Add to: another name.'],
    [{ errors: [{ then: 'dead' }] }, 'streams.items.errors.0: needs status, when, or both.'],
    [
      { errors: [{ when: { '$.errors[': 1 }, then: 'dead' }] },
      "streams.items.errors.0.when.$.errors[: isn't a JSONPath: unclosed bracketed selection, character 10.",
    ],
    [
      { errors: [{ status: 400, then: 'dead', code: '$.error[' }] },
      "streams.items.errors.0.code: isn't a JSONPath: unclosed bracketed selection, character 9.",
    ],
  ])('%j', (stream, message) => {
    expect(issuesOf(stream)).toContain(message);
  });

  it.each([
    [{ ca: 'none.pem' }, "ca: doesn't exist. Paths are relative to this file."],
    [{ ca: '-----BEGIN KEY-----' }, 'ca: has no PEM text with BEGIN CERTIFICATE. Write a path, such as ./ca.pem.'],
    [{ proxy: 'proxy:3128' }, "proxy: isn't a proxy address. Write, for example, http://proxy.example.com:3128, or false for none."],
    [{ limit: undefined }, "limit: is missing. Write the service's limit, such as { requests: 15, window: 15m }."],
    [{ budgets: { day: { requests: 5, per: 'day' } } }, "budgets: can't be combined with limit. Keep one of them."],
    [{ credentials: [{ name: 'a', bearer: 'x', key: 'y' }] }, 'credentials.0: has bearer and key. Keep one of them.'],
    ...['oauth/token', 'ftp://example.com/token', 'login.example.com/token'].map((url): [object, string] => [
      { credentials: [{ name: 'a', token: { url, id: 'i', secret: 's' } }] },
      'credentials.0.token.url: is neither a path nor an address. Write /oauth/token, or for example https://login.example.com/token.',
    ]),
    ...[{ get: '/items' }, { post: '/items' }].map((items): [object, string] => [
      { credentials: [{ name: 'a', key: 'x', body: 'api_key' }], streams: { items } },
      'credentials.0.body: needs a body in every request, and items has none. Write header or query. A post may also have body: {}.',
    ]),
    [{ credentials: [{ name: 'a', header: 'x-key' }] }, 'credentials.0.header: needs a key. Add key: "${KEY}".'],
    [
      { limit: { requests: 1, window: '1s', reset: '$.wait' } },
      'limit.reset: needs left as well. Write both, or neither: Headgate reads the usual headers itself.',
    ],
  ])('%j', (section, message) => {
    expect(issuesOf({}, section)).toContain(message);
  });

  it('a stream or a topic with an underscore', () => {
    expect(issuesOf({ to: 'my_topic' })).toEqual(["streams.items.to: isn't a topic name. Write letters, digits and dashes."]);
    expect(issuesOf({}, { streams: { my_items: { get: '/' } } })).toEqual([
      "streams.my_items: The key isn't a stream name. Write letters, digits and dashes.",
    ]);
  });
});

describe('credentials that share one budget', () => {
  const client = { url: '/token', id: 'me', secret: 'shh' };
  const signed = { consumerKey: 'me', consumerSecret: 'shh' };

  it.each([
    ['bearer', { bearer: 'x' }, { bearer: 'x' }],
    ['basic', { basic: { user: 'me', password: 'x' } }, { basic: { user: 'me', password: 'x' } }],
    ['basic', { basic: { user: 'me' } }, { basic: { user: 'me' } }],
    ['key', { key: 'x' }, { key: 'x' }],
    ['key', { key: 'x', header: 'x-key' }, { key: 'x', query: 'key' }],
    ['oauth1', { oauth1: signed }, { oauth1: { ...signed, consumerSecret: 'other' } }],
    ['oauth1', { oauth1: { ...signed, token: 't', tokenSecret: 'a' } }, { oauth1: { ...signed, token: 't', tokenSecret: 'b' } }],
    ['token', { token: client }, { token: { ...client, in: 'body' } }],
    [
      'token',
      { token: { url: '/login', json: { user: 'me', password: 'x' } } },
      { token: { url: '/login', json: { user: 'me', password: 'x' } } },
    ],
  ])('%s: %j and %j', (setting, one, other) => {
    const credentials = [
      { name: 'a', ...one },
      { name: 'b', bearer: 'other' },
      { name: 'c', ...other },
    ];
    expect(issuesOf({}, { credentials })).toEqual([
      `credentials.2.${setting}: is also the secret of credentials[0]. The service counts both against one budget. Keep one of them.`,
    ]);
  });

  it('two without a secret', () => {
    expect(issuesOf({}, { credentials: [{ name: 'a' }, { name: 'b' }] })).toEqual([
      'credentials.1: has no secret, like credentials[0]. The service counts both against one budget. Keep one of them.',
    ]);
  });

  it('two with one name', () => {
    expect(
      issuesOf(
        {},
        {
          credentials: [
            { name: 'a', bearer: 'x' },
            { name: 'a', bearer: 'y' },
          ],
        },
      ),
    ).toEqual(['credentials.1.name: is also the name of credentials[0]. Give each its own name.']);
  });

  it.each([
    [{ bearer: 'x' }, { bearer: 'y' }],
    [{ basic: { user: 'me', password: 'x' } }, { basic: { user: 'you', password: 'x' } }],
    [{ oauth1: { ...signed, token: 'a', tokenSecret: 's' } }, { oauth1: { ...signed, token: 'b', tokenSecret: 's' } }],
    [{ token: { ...client, form: { account: '1' } } }, { token: { ...client, form: { account: '2' } } }],
    [{ token: { ...client, url: '/one/token' } }, { token: { ...client, url: '/other/token' } }],
    [{ token: { ...client, refreshToken: 'a' } }, { token: { ...client, refreshToken: 'b' } }],
    [{ bearer: 'x' }, {}],
  ])('not %j and %j', (one, other) => {
    expect(
      issuesOf(
        {},
        {
          credentials: [
            { name: 'a', ...one },
            { name: 'b', ...other },
          ],
        },
      ),
    ).toEqual([]);
  });

  it("not two whose secrets can't be read yet", () => {
    const bearer = { file: '/nonexistent/headgate-secret' };
    expect(
      issuesOf(
        {},
        {
          credentials: [
            { name: 'a', bearer },
            { name: 'b', bearer },
          ],
        },
      ),
    ).toEqual([]);
  });
});
