import { setTimeout as sleep } from 'node:timers/promises';
import { sampleIsbn, startBooks, startFollowers } from '@headgate/sandbox';
import { describe, expect, it } from 'vitest';
import { type Running, type Workplace, followersYaml, workplace } from './headgate-process.fixture.ts';

const HOUR_MS = 3_600_000;

interface Status {
  readonly budgets: readonly { readonly window_ms: number; readonly used: number; readonly free_at?: number }[];
  readonly work: readonly { readonly doing?: { readonly state: string; readonly for?: string; readonly until?: number } }[];
}

describe('headgate run, for its budgets,', () => {
  it('sends nothing before a Retry-After is over, however often it is killed', async () => {
    await using service = await startFollowers({
      users: { alpha: { followers: 10 } },
      faults: [{ name: '429', at: 1, times: 9, retryAfterMs: 900_000 }],
    });
    const yaml = followersYaml({ url: service.url, users: ['alpha'], limit: '{ requests: 15, window: 15m }' });
    await using place = await workplace(withStatus(yaml));
    for (let kill = 0; kill < 2; kill += 1) {
      const run = place.start('run');
      const { work } = await statusWhere(run, ({ work }) => work.some(isToldWhen));
      expect(work.find(isToldWhen)?.doing?.until).toBeGreaterThan((service.requests[0]?.at ?? Infinity) + 800_000);
      await until(async () => (await journal(place))[0]?.heldMs !== undefined);
      run.child.kill('SIGKILL');
      await run.ended;
    }
    expect(service.requests.map(({ status }) => status)).toEqual([429]);
  });

  it('counts requests of a shorter window in a longer one', async () => {
    await using service = await startFollowers({ users: Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, { followers: 3 }])) });
    const yaml = (limit: string, users: readonly string[]): string => followersYaml({ url: service.url, users, limit });
    await using place = await workplace(yaml('{ requests: 2, window: 1s }', ['a', 'b']));
    expect((await place.headgate('run')).code).toBe(0);
    // oxlint-disable-next-line machine/no-sleep -- the shorter window has to be over
    await sleep(1_100);
    await place.write('headgate.yaml', withStatus(yaml('{ requests: 3, window: 15m }', ['a', 'b', 'c', 'd'])));
    const run = place.begin('run');
    const { budgets, work } = await statusWhere(run, ({ work }) => service.requests.length === 3 && work.some(isToldWhen));
    run.interrupt();
    await run.ended;
    expect(service.requests).toHaveLength(3);
    expect(budgets).toMatchObject([{ used: 3, window_ms: 900_000 }]);
    expect(work.find(isToldWhen)?.doing?.until).toBeGreaterThanOrEqual((service.requests[0]?.at ?? Infinity) + 900_000);
  });

  it('uses the whole quota of a day, cuts the last batch to it, and then waits for the next day', async () => {
    const perDay = 150;
    // The quota must not reset during the test, so it resets at least 11 hours from now.
    const turn = (Math.floor(Date.now() / HOUR_MS) + 12) * HOUR_MS;
    const resetsAt = new Date(turn).toISOString().slice(11, 16);
    await using service = await startBooks({
      keys: [{ name: 'mine', key: 'key-5Pq3-never-shown', plan: 'default' }],
      dailyQuota: { isbns: perDay, resetsAt },
    });
    await using place = await workplace(`topics: { driver: sqlite, file: ./headgate.db }
status: { port: 0 }
books:
  baseUrl: ${service.url}
  key: "\${KEY}"
  maxBatch: 100
  perDay: { isbns: ${perDay}, resetsAt: "${resetsAt}" }
  isbns: ${JSON.stringify(Array.from({ length: 200 }, (_, i) => sampleIsbn(i)))}
  authors: [Ada, Bert]
`);
    const run = place.begin('run');
    const { budgets, work } = await statusWhere(
      run,
      ({ budgets: [, day], work }) => day?.used === perDay && day.free_at !== undefined && work.some(isToldWhen),
    );
    run.interrupt();
    await run.ended;
    expect(service.requests.filter(({ status }) => status !== 200)).toEqual([]);
    const [written, authors] = [await place.records('books.records'), await place.records('books.authors')];
    expect(written.length + authors.length).toBe(perDay);
    for (const at of [budgets[1]?.free_at, work.find(isToldWhen)?.doing?.until])
      expect(Math.abs((at ?? 0) - turn - 5_000)).toBeLessThan(1_000);
  });
});

function withStatus(yaml: string): string {
  return yaml.replace('status: false', 'status: { port: 0 }');
}

/** Whether work waits for its budget until a known time. The time is unknown while a request is in flight. */
function isToldWhen(row: Status['work'][number]): boolean {
  return row.doing?.state === 'waiting' && row.doing.for === 'budget' && row.doing.until !== undefined;
}

interface Journalled {
  readonly heldMs?: number;
}

async function journal(place: Workplace): Promise<readonly Journalled[]> {
  const records = await place.records('followers.state');
  return (records.findLast(({ key }) => key === 'headgate/budget/app')?.value ?? []) as readonly Journalled[];
}

async function statusWhere(run: Running, isWanted: (status: Status) => boolean): Promise<Status> {
  let now: Status = { budgets: [], work: [] };
  await until(async () => {
    const url = /status at (\S+)/.exec(run.text().stderr)?.[1];
    if (url === undefined) return false;
    now = (await (await fetch(new URL('/status.json', url))).json()) as Status;
    return isWanted(now);
  });
  return now;
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(50);
}
