import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { type ContractCheck, type ContractService, pipelineContract } from './index.ts';
import { treeContract } from './family.fixture.ts';
import { type Mistakes, orders, ordersService } from './orders.fixture.ts';
import { shop, shopService } from './shop.fixture.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-contract-'));
});
afterAll(() => rm(folder, { recursive: true }));

function checksOf(mistakes: Mistakes = {}): readonly ContractCheck[] {
  return pipelineContract({
    openLog: () => sqliteTopicLog({ file: join(folder, 'log.db') }),
    startService: ({ mended }) => ordersService(['a', 'b', 'd', ...(mended ? ['new'] : [])]),
    pipeline: (service: ContractService) => orders(mistakes)({ baseUrl: service.url }),
    requests: ['a', 'b', 'd'].map((customer) => ({ customer })),
    records: { records: 30 },
    failing: { request: { customer: 'new' }, code: 'HEADGATE_NO_CUSTOMER', records: { records: 10 } },
    seeds: [7],
  });
}

describe('a pipeline that keeps the contract passes', () => {
  it.concurrent.for(checksOf())('$name', async (check, { expect }) => {
    await expect(check.run()).resolves.toBeUndefined();
  });
});

describe('a pipeline with two kinds of walks and two of lookups that share keys passes', () => {
  const articles = ['m', 'n', 'o', 'p', 'q'];
  const checks = pipelineContract({
    openLog: () => sqliteTopicLog({ file: join(folder, 'log.db') }),
    startService: ({ mended }) => shopService(['a', 'b', ...(mended ? ['new'] : [])]),
    pipeline: ({ url }: ContractService) => shop({ baseUrl: url }),
    requests: [
      ...['a', 'b'].flatMap((name) => [
        { kind: 'orders', name },
        { kind: 'invoices', name },
      ]),
      { kind: 'prices', name: 'a', articles },
      { kind: 'stocks', name: 'a', articles },
    ],
    records: { orders: 6, invoices: 6, prices: 5, stocks: 5, ends: 4 },
    failing: { request: { kind: 'orders', name: 'new' }, code: 'HEADGATE_NO_CUSTOMER', records: { orders: 3, ends: 1 } },
    seeds: [1, 2],
  });
  it.concurrent.for(checks)('$name', async (check, { expect }) => {
    await expect(check.run()).resolves.toBeUndefined();
  });
});

describe('a pipeline whose pages request more passes', () => {
  const checks = pipelineContract({ ...treeContract, openLog: () => sqliteTopicLog({ file: join(folder, 'log.db') }) });
  it.concurrent.for(checks)('$name', async (check, { expect }) => {
    await expect(check.run()).resolves.toBeUndefined();
  });
});

describe('a pipeline that breaks it fails:', () => {
  it.concurrent.for<[mistake: Mistakes, check: RegExp, says: RegExp]>([
    [{ withoutJournal: true }, /remaining work/, /io\.journal/],
    [{ skipsOnResume: true }, /^cut off/, /seed 7, cut at operation/],
    [{ startsAnew: true }, /^cut off/, /seed 7, cut at operation/],
    [{ sharesCredentials: true }, /two lanes/, /two lanes use one credential: .*io\.credentials/],
    [{ leavesTimer: true }, /^stopped/, /left open[^]*timers/],
    [{ leavesConnection: true }, /^stopped/, /left open[^]*connections/],
    [{ sameIds: true }, /^an undisturbed run/, /two records have the id/],
  ])('%j', async ([mistake, name, says], { expect }) => {
    const check = checksOf(mistake).find((one) => name.test(one.name));
    await expect(check?.run()).rejects.toThrow(says);
  });
});
