import { sampleIsbn, startBooks } from '@headgate/sandbox';
import type { TopicLog } from '@headgate/topics';
import { expect, it } from 'vitest';
import { books } from '../pipelines/books.ts';
import { followers } from '../pipelines/followers.ts';
import { runMetrics } from '../status/run-metrics.ts';
import { runViewer } from '../status/run-view.ts';
import { driftingService } from './drifting-service.fixture.ts';
import type { SkippingClock } from './fuzz/skipping-clock.fixture.ts';
import { heldBytes } from './fuzz/memory.fixture.ts';
import { type VirtualDays, virtualDays } from './virtual-days.fixture.ts';

const TORTURE = process.env['HEADGATE_TORTURE'] === '1';
/** Two rounds a day for a week; in `npm test`, fewer and shorter rounds. */
const { every, everyMs, rounds } = TORTURE
  ? { every: '12h', everyMs: 43_200_000, rounds: 14 }
  : { every: '40m', everyMs: 2_400_000, rounds: 7 };
/** Maximum growth of the memory in use from the third round to the last, bytes. */
const NOISE = 6 * 2 ** 20;

it('a run uses no more of any resource at the end of a week than on its second day', { timeout: 900_000 }, async () => {
  let state = 7;
  const random = (): number => (state = (state * 48_271) % (2 ** 31 - 1)) / (2 ** 31 - 1);
  await using lists = await driftingService({ users: { alpha: 55, beta: 25 }, pageSize: 10, random });
  let clock: SkippingClock | undefined;
  await using catalogue = await startBooks({ now: () => clock?.epochMs() ?? Date.now() });
  let events = 0;
  const stopping = new AbortController();
  const pipelines = [
    followers({
      baseUrl: lists.url,
      credentials: [{ name: 'app', bearer: 'a-token' }],
      users: [{ screenName: 'alpha' }, { screenName: 'beta' }],
      emit: ['pages', 'ids', 'changes'],
      limit: { requests: 5, window: '5m' },
      count: 10,
      every,
    }),
    books({
      baseUrl: catalogue.urls.default,
      key: 'a-key',
      isbns: Array.from({ length: 150 }, (_, i) => sampleIsbn(i)),
      authors: ['Ursula K. Le Guin'],
      every,
    }),
  ];
  await using days = await virtualDays({
    pipelines,
    onEvent() {
      events += 1;
    },
  });
  clock = days.clock;
  const about = { version: '1', host: 'h', pid: 1, config: 'c', log: 'l', group: 'headgate', lanes: 1, pipelines: [] };
  const viewer = runViewer(days.clock, stopping.signal, about);
  viewer.attach(days.running);
  const found: Needs[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const before = events;
    await days.until(round * everyMs + everyMs / 2);
    // The round is done, and no work is in progress until the next one.
    expect(days.running.snapshot().lanes.map(({ inWork, keys }) => inWork + keys)).toEqual([0, 0]);
    found.push(await needs(days, viewer.view(), events - before));
    lists.drift(3);
  }
  const { walks, keys } = days.running.snapshot().pipelines['books'] ?? {};
  expect([lists.crawls('alpha').length, walks?.completed, keys?.answered]).toEqual([rounds, rounds, rounds * 150]);
  const [, , early, ...later] = found;
  if (early === undefined) throw new Error('a week has no third round');
  for (const one of later) {
    expect({ series: one.series, entries: one.entries }).toEqual({ series: early.series, entries: early.entries });
    // Journals and drifting lists differ slightly between rounds. A leak in each round would exceed this tolerance by the end.
    for (const [topic, bytes] of Object.entries(one.stateBytes)) expect(bytes).toBeLessThan((early.stateBytes[topic] ?? 0) * 1.1 + 50);
    expect(one.events).toBeLessThan(early.events * 1.1);
  }
  expect((later.at(-1)?.heldBytes ?? 0) - early.heldBytes).toBeLessThan(NOISE);
});

/** The resources of a run after a round. */
interface Needs {
  /** Size of the checkpoints in characters, by topic. */
  readonly stateBytes: Readonly<Record<string, number>>;
  /** Number of series on /metrics, plus one for the empty last line. */
  readonly series: number;
  /** Number of entries in the snapshot, without the rows of its work. */
  readonly entries: number;
  readonly events: number;
  readonly heldBytes: number;
}

async function needs({ log, running }: VirtualDays, view: Parameters<typeof runMetrics>[0], events: number): Promise<Needs> {
  const topics = ['followers.state', 'books.state', 'headgate.state'];
  const stateBytes = Object.fromEntries(await Promise.all(topics.map(async (topic) => [topic, await bytesOf(log, topic)] as const)));
  const { body } = runMetrics(view, { cpuSeconds: 1, residentBytes: 1 });
  return {
    stateBytes,
    series: body.split('\n').filter((line) => !line.startsWith('#')).length,
    entries: leaves({ ...running.snapshot(), work: [] }),
    events,
    heldBytes: TORTURE ? heldBytes() : 0,
  };
}

async function bytesOf(log: TopicLog, topic: string): Promise<number> {
  let bytes = 0;
  for (const [key, value] of await log.readState(topic, 0)) bytes += key.length + value.length;
  return bytes;
}

function leaves(value: unknown): number {
  return typeof value === 'object' && value !== null ? Object.values(value).reduce<number>((sum, one) => sum + leaves(one), 0) : 1;
}
