import { bearer } from '@headgate/auth';
import { SourceError, defineSource, jsonBody, pageNumbers } from '@headgate/sources';
import * as z from 'zod';
import type { DefinedPipeline } from '../definition/pipeline.ts';
import { definePipeline } from '../definition/define-pipeline.ts';
import { topic } from '../topics/topic.ts';
import { lookup } from '../jobs/lookup.ts';
import { split } from '../jobs/split.ts';
import { route } from '../jobs/route.ts';
import { walk } from '../jobs/walk.ts';
import { limitedService } from './limited-service.fixture.ts';
import type { ContractService } from './pipeline-contract.ts';

const LIMIT = { limit: 8, windowMs: 300 };
const PAGES = 3;

/** Starts a shop's service: orders and invoices of customers, on three pages each, and prices and stocks of articles. */
export async function shopService(customers: readonly string[]): Promise<ContractService> {
  return await limitedService(LIMIT, ({ pathname }) => {
    const [, kind = '', name = '', page = ''] = pathname.split('/');
    if (page === '') return { items: name.split('+').map((article) => `${kind} of ${article}`), next: null };
    if (!customers.includes(name)) return undefined;
    const number = Number(page);
    return { items: [`${kind} of ${name} ${page}`], next: number < PAGES ? number + 1 : null };
  });
}

type Query = { readonly kind: string; readonly names: readonly string[]; readonly page?: number };

const answer = z.object({ items: z.array(z.string()), next: z.int().nullable() });

type ShopPage = z.output<typeof answer>;

const shopSource = defineSource<Query, ShopPage>({
  service: 'shop',
  limit: { requests: LIMIT.limit, windowMs: LIMIT.windowMs },
  toRequest: ({ kind, names, page }) => ({ path: `/${kind}/${names.join('+')}${page === undefined ? '' : `/${page}`}` }),
  classify(given, { query: { names } }) {
    if (given.status === 404) {
      const message = `There is no customer ${names.join()}.`;
      return { kind: 'not-found', error: new SourceError({ code: 'HEADGATE_NO_CUSTOMER', message, retryable: false, service: 'shop' }) };
    }
    const body = jsonBody(given, JSON.parse);
    return body.kind === 'json' ? { kind: 'ok', value: answer.parse(body.value) } : { kind: 'transient', reason: body.reason };
  },
  subject: ({ names }) => names.join(),
  items: ({ names }) => names.length,
  itemsOf: ({ items }) => items.length,
});

const WALKS = ['orders', 'invoices'] as const;
const LOOKUPS = ['prices', 'stocks'] as const;

const request = z.union([
  z.strictObject({ kind: z.enum(WALKS), name: z.string() }),
  z.strictObject({ kind: z.enum(LOOKUPS), name: z.string(), articles: z.array(z.string()) }),
]);
type Request = z.output<typeof request>;

const records = topic({ value: z.string() });
const topics = { orders: records, invoices: records, prices: records, stocks: records, ends: topic({ value: z.string() }) };
type Topics = typeof topics;
type ShopSource = ReturnType<typeof shopSource>;

const options = z.strictObject({ baseUrl: z.string() });

/** A pipeline with two kinds of walks, two of lookups, and jobs of many keys. Their requests share keys. */
export const shop: DefinedPipeline<typeof options> = definePipeline({
  name: 'shop',
  options,
  request,
  topics,
  makesRequests: true,
  keyOf: ({ name }) => name,
  open({ baseUrl }, io) {
    const source = shopSource({ ...io, baseUrl, credentials: [{ name: 'app', signer: bearer('app') }] });
    const walked = (kind: (typeof WALKS)[number]) =>
      walk<Query, ShopPage, number, Request, Topics>({
        source,
        paging: ({ name }) => pageNumbers({ query: (page) => ({ kind, names: [name], page }), isLast: ({ next }) => next === null }),
        records: ({ items }, { key, topics: of }) => items.map((item) => of[kind]({ key, value: item })),
        async *after(crawl, previous, { topics: of }) {
          yield await Promise.resolve(of.ends({ key: `${kind} of ${crawl.key}`, value: `after ${previous?.id ?? 'none'}` }));
        },
      });
    const lookedUp = (kind: (typeof LOOKUPS)[number]) =>
      lookup<ShopSource, Request, ShopPage, Topics>({
        source,
        key: (of) => ('articles' in of ? (of.articles[0] ?? '') : ''),
        size: 2,
        query: (api, names, given) => api.query({ kind, names }, given),
        records: ({ items }, { requested, topics: of }) => ({
          records: requested.map(({ key }, index) => ({ index, record: of[kind]({ key, value: items[index] ?? '' }) })),
        }),
      });
    const isMany = (one: Request): boolean => 'articles' in one && one.articles.length !== 1;
    return route((one: Request) => [isMany(one) ? 'many' : one.kind, one], {
      many: split((one) => ('articles' in one ? one.articles.map((article) => ({ ...one, articles: [article] })) : [])),
      orders: walked('orders'),
      invoices: walked('invoices'),
      prices: lookedUp('prices'),
      stocks: lookedUp('stocks'),
    });
  },
});
