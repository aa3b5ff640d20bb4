import { bearer } from '@headgate/auth';
import { SourceError, defineSource, jsonBody, pageNumbers } from '@headgate/sources';
import * as z from 'zod';
import type { DefinedPipeline } from '../definition/pipeline.ts';
import { definePipeline } from '../definition/define-pipeline.ts';
import { topic } from '../topics/topic.ts';
import { walk } from '../jobs/walk.ts';
import { limitedService } from './limited-service.fixture.ts';
import type { ContractService, PipelineContractOptions } from './pipeline-contract.ts';

const LIMIT = { limit: 16, windowMs: 300 };

/**
 * Starts a service of trees with three levels. A root has a child on each of its two pages. A child has a grandchild on each of its two
 * pages, and on both pages also one that it shares with its sibling.
 */
export async function treeService(families: readonly string[]): Promise<ContractService> {
  return await limitedService(LIMIT, ({ pathname }) => {
    const [, name = '', page = ''] = pathname.split('/');
    const level = name.split('.').length;
    if (!families.includes(name.split('.')[0] ?? '') || level > LEVELS) return undefined;
    const [family] = name.split('.');
    const children = level < LEVELS ? [`${name}.${page}`, ...(level === LEVELS - 1 ? [`${family}.of.both`] : [])] : [];
    return { children, isLast: level === LEVELS || page === '2' };
  });
}

const LEVELS = 3;

const answer = z.object({ children: z.array(z.string()), isLast: z.boolean() });

const treeSource = defineSource<{ readonly name: string; readonly page: number }, z.output<typeof answer>>({
  service: 'tree',
  limit: { requests: LIMIT.limit, windowMs: LIMIT.windowMs },
  toRequest: ({ name, page }) => ({ path: `/${name}/${page}` }),
  classify(given, { query: { name } }) {
    if (given.status === 404) {
      const message = `There is no ${name}.`;
      return { kind: 'not-found', error: new SourceError({ code: 'HEADGATE_NO_MEMBER', message, retryable: false, service: 'tree' }) };
    }
    const body = jsonBody(given, JSON.parse);
    return body.kind === 'json' ? { kind: 'ok', value: answer.parse(body.value) } : { kind: 'transient', reason: body.reason };
  },
  subject: ({ name }) => name,
  items: () => 1,
  itemsOf: ({ children }) => children.length,
});

const options = z.strictObject({ baseUrl: z.string() });
const CREDENTIALS = [{ name: 'one' }, { name: 'two' }];

/**
 * A pipeline that writes a record for each page of a tree's member, and requests the children on that page. `child`: creates a child's
 * request.
 */
export function tree(child: (name: string) => unknown = (name) => ({ name }), { once = true } = {}): DefinedPipeline<typeof options> {
  return definePipeline({
    name: 'tree',
    options,
    request: z.strictObject({ name: z.string().min(1) }),
    topics: { members: topic({ value: z.object({ name: z.string(), page: z.int() }) }) },
    makesRequests: true,
    keyOf: ({ name }) => name,
    credentials: () => CREDENTIALS,
    open: ({ baseUrl }, io) =>
      walk({
        source: treeSource({ ...io, baseUrl, credentials: io.credentials.map(({ name }) => ({ name, signer: bearer(() => name) })) }),
        paging: ({ name }) => pageNumbers({ query: (page) => ({ name, page }), isLast: ({ isLast }) => isLast }),
        records: ({ children }, { topics, key, page }) => [
          topics.members({ key, value: { name: key, page } }),
          ...children.map((name) => topics.requests(child(name), { once })),
        ],
      }),
  });
}

/**
 * Number of records of a tree, one per page: two pages of the root and of each of two children, and one page of each of four grandchildren
 * and of the shared grandchild.
 */
const RECORDS = 2 + 2 * 2 + 4 + 1;

export const treeContract: Omit<PipelineContractOptions<ContractService>, 'openLog'> = {
  startService: ({ mended }) => treeService(['a', 'b', 'd', ...(mended ? ['new'] : [])]),
  pipeline: ({ url }) => tree()({ baseUrl: url }),
  requests: ['a', 'b', 'd'].map((name) => ({ name })),
  records: { members: 3 * RECORDS },
  failing: { request: { name: 'new' }, code: 'HEADGATE_NO_MEMBER', records: { members: RECORDS } },
};
