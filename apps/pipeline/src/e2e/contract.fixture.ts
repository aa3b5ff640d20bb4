import type { PipelineContractOptions, ContractService } from '@headgate/pipeline/testing';
import { type BooksSandbox, type FollowersSandbox, sampleIsbn, startBooks, startFollowers } from '@headgate/sandbox';
import { books } from '../pipelines/books.ts';
import { followers } from '../pipelines/followers.ts';

export type Contract = Omit<PipelineContractOptions<ContractService>, 'openLog'>;

const FOLLOWERS_LIMIT = { requests: 4, windowMs: 400 };
const PAGES = 5;
const USERS = ['alpha', 'bravo', 'carol'];
const CREDENTIALS = ['one', 'two'].map((name) => ({ name, bearer: `token-${name}` }));

/** The followers pipeline: five pages per user, and four requests of each credential in any 400 ms. */
const followersContract: Contract = {
  async startService({ mended }) {
    const service = await startFollowers({
      users: {
        ...Object.fromEntries(USERS.map((name) => [name, { followers: 4 * PAGES }])),
        closed: mended ? { followers: 7 } : { protected: true },
      },
      credentials: CREDENTIALS,
      window: { kind: 'rolling', limit: FOLLOWERS_LIMIT.requests, windowMs: FOLLOWERS_LIMIT.windowMs },
    });
    return counted(service.url, service);
  },
  pipeline: ({ url }) =>
    followers({
      baseUrl: url,
      credentials: CREDENTIALS,
      limit: { requests: FOLLOWERS_LIMIT.requests, window: FOLLOWERS_LIMIT.windowMs },
      count: 4,
      emit: ['pages', 'ids'],
      dropBoundaryDuplicates: true,
    }),
  requests: USERS.map((screenName) => ({ screenName })),
  records: { pages: USERS.length * PAGES, ids: USERS.length * PAGES * 4, crawls: USERS.length * 2 },
  failing: { request: { screenName: 'closed' }, code: 'HEADGATE_USER_PROTECTED', records: { pages: 2, ids: 7, crawls: 2 } },
};

const PAGE_SIZE = 5;
/** Number of books by each author in the sandbox. */
const AUTHORS = { 'Le Guin': 23, Lem: 8, Nobody: 17 };
/** Pages with books, and the empty one that ends the list. */
const pagesOf = (author: keyof typeof AUTHORS): number => Math.ceil(AUTHORS[author] / PAGE_SIZE) + 1;
const ISBNS = [0, 1, 2, 3, 4, 5, 6].map((n) => sampleIsbn(n));

/** The books pipeline: batches of two ISBNs, and pages of five books per author. */
const booksContract: Contract = {
  async startService({ mended }) {
    const service = await startBooks({ unknown: mended ? [sampleIsbn(6)] : [sampleIsbn(6), 'Nobody'], maxBatch: 2 });
    return counted(service.urls.pro, service);
  },
  pipeline: ({ url }) => books({ baseUrl: url, plan: 'pro', key: 'any-key', maxBatch: 2, pageSize: PAGE_SIZE }),
  requests: [{ isbns: ISBNS.slice(0, 5) }, { isbn: ISBNS[5] }, { isbn: ISBNS[6] }, { author: 'Le Guin' }, { author: 'Lem' }],
  records: { records: 6, missing: 1, authors: pagesOf('Le Guin') + pagesOf('Lem') },
  failing: { request: { author: 'Nobody' }, code: 'HEADGATE_AUTHOR_NOT_FOUND', records: { authors: pagesOf('Nobody') } },
};

function counted(url: string, service: FollowersSandbox | BooksSandbox): ContractService {
  return {
    url,
    requests: () => service.requests.length,
    refused: () => service.requests.filter(({ status }) => status === 429).length,
    [Symbol.asyncDispose]: () => service.close(),
  };
}

export const contracts: Readonly<Record<'followers' | 'books', Contract>> = { followers: followersContract, books: booksContract };
