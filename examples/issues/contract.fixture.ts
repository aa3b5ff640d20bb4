import type { ContractService, PipelineContractOptions } from '@headgate/pipeline/testing';
import { startIssues } from './issues-emulator.ts';
import issues from './issues.ts';

const LIMIT = { window: 5, windowMs: 400 };
const REPOS = { 'o/a': 15, 'o/b': 14, 'o/c': 10 };
const TOKENS = ['one', 'two'].map((name) => ({ name, token: `token-${name}` }));

/** Three repositories and six single issues, at five requests of each token in any 400 ms. */
export const issuesContract: Omit<PipelineContractOptions<ContractService>, 'openLog'> = {
  async startService({ mended }) {
    const service = await startIssues({ repos: { ...REPOS, ...(mended && { 'o/new': 7 }) }, limits: LIMIT });
    return {
      url: service.url,
      requests: () => service.requests.length,
      refused: () => service.requests.filter(({ status }) => status === 429 || status === 403).length,
      [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
    };
  },
  pipeline: ({ url }) => issues({ baseUrl: url, tokens: TOKENS, window: { requests: LIMIT.window, per: LIMIT.windowMs }, perMonth: 1_000 }),
  requests: [...Object.keys(REPOS).map((repo) => ({ repo })), ...[1, 2, 3, 4, 5, 6].map((number) => ({ issue: `o/a#${number}` }))],
  records: { records: 15 + 14 + 10 + 6 },
  failing: { request: { repo: 'o/new' }, code: 'HEADGATE_NOT_FOUND', records: { records: 7 } },
};
