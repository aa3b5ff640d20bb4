import { connect } from 'node:net';
import { bearer } from '@headgate/auth';
import { SourceError, defineSource, jsonBody } from '@headgate/sources';
import * as z from 'zod';
import type { DefinedPipeline } from '../definition/pipeline.ts';
import type { PipelineIo } from '../definition/pipeline-definition.ts';
import { definePipeline } from '../definition/define-pipeline.ts';
import { topic } from '../topics/topic.ts';
import { walk } from '../jobs/walk.ts';
import { limitedService } from './limited-service.fixture.ts';
import type { ContractService } from './pipeline-contract.ts';

const LIMIT = 4;
const WINDOW_MS = 400;
const PAGES = 5;

/** Starts a shop's service of orders: `PAGES` pages per customer, and at most `LIMIT` requests per token in any `WINDOW_MS`. */
export async function ordersService(customers: readonly string[]): Promise<ContractService> {
  return await limitedService({ limit: LIMIT, windowMs: WINDOW_MS }, ({ pathname }) => {
    const [, customer = '', page = ''] = pathname.split('/');
    if (!customers.includes(customer)) return undefined;
    const last = Number(page) >= PAGES;
    return { orders: [`${customer}-${page}-0`, `${customer}-${page}-1`], next: last ? null : Number(page) + 1 };
  });
}

interface Query {
  readonly customer: string;
  readonly page: number;
}

const ordersPage = z.object({ orders: z.array(z.string()), next: z.int().nullable() });
type OrdersPage = z.output<typeof ordersPage>;

const ordersSource = defineSource<Query, OrdersPage>({
  service: 'orders',
  limit: { requests: LIMIT, windowMs: WINDOW_MS },
  toRequest: ({ customer, page }) => ({ path: `/${customer}/${page}` }),
  classify(answer, { query: { customer } }) {
    if (answer.status === 404) {
      const message = `There is no customer ${customer}.`;
      return { kind: 'not-found', error: new SourceError({ code: 'HEADGATE_NO_CUSTOMER', message, retryable: false, service: 'orders' }) };
    }
    const body = jsonBody(answer, JSON.parse);
    return body.kind === 'json' ? { kind: 'ok', value: ordersPage.parse(body.value) } : { kind: 'transient', reason: body.reason };
  },
  subject: ({ customer }) => customer,
  items: () => 2,
  itemsOf: ({ orders }) => orders.length,
});

/** Mistakes in a definition that the contract should find. */
export interface Mistakes {
  /** After a restart, budgets don't know of earlier requests. */
  readonly withoutJournal?: boolean;
  /** A resumed walk leaves out a page. */
  readonly skipsOnResume?: boolean;
  /** A resumed walk starts again at the first page. */
  readonly startsAnew?: boolean;
  /** Every lane uses every credential. */
  readonly sharesCredentials?: boolean;
  /** A timer is still scheduled after a stop. */
  readonly leavesTimer?: boolean;
  /** A connection is still open after a stop. */
  readonly leavesConnection?: boolean;
  /** Records of different pages have the same IDs. */
  readonly sameIds?: boolean;
}

const options = z.strictObject({ baseUrl: z.string() });
const CREDENTIALS = [{ name: 'one' }, { name: 'two' }];

export function orders(mistakes: Mistakes = {}): DefinedPipeline<typeof options> {
  const sourceOf = (baseUrl: string, io: PipelineIo) => {
    const { journal, ...rest } = io;
    const own = mistakes.sharesCredentials === true ? CREDENTIALS : io.credentials;
    const credentials = own.map(({ name }) => ({ name, signer: bearer(() => name) }));
    return ordersSource({ ...rest, ...(mistakes.withoutJournal !== true && { journal }), baseUrl, credentials });
  };
  return definePipeline({
    name: 'orders',
    options,
    request: z.strictObject({ customer: z.string() }),
    topics: { records: topic({ value: z.object({ order: z.string() }) }) },
    keyOf: ({ customer }) => customer,
    credentials: () => CREDENTIALS,
    open({ baseUrl }, io) {
      const source = sourceOf(baseUrl, io);
      if (mistakes.leavesConnection === true) connect(Number(new URL(baseUrl).port), '127.0.0.1').on('error', () => undefined);
      if (mistakes.leavesTimer === true) io.clock.schedule(60_000, () => undefined);
      return walk({
        source,
        paging({ customer }) {
          let isResumed = true;
          return {
            get first() {
              isResumed = false;
              return 1;
            },
            query(page: number) {
              const isLate = isResumed;
              isResumed = false;
              if (isLate && mistakes.startsAnew === true) return { customer, page: 1 };
              return { customer, page: isLate && mistakes.skipsOnResume === true ? page + 1 : page };
            },
            next: ({ next }) => (next === null ? 'last' : { cursor: next }),
          };
        },
        records: (page, { topics, key }) =>
          page.orders.map((order, i) => topics.records({ key, value: { order }, ...(mistakes.sameIds === true && { id: `${i}` }) })),
      });
    },
  });
}
