import { setTimeout as sleep } from 'node:timers/promises';
import { type KafkaNode, type KafkaVersion, whyNoKafkaBroker } from '@headgate/broker';
import { describe, expect, it } from 'vitest';
import { askedAgain, expectWhole, refusals } from './crawls.fixture.ts';
import type { Runner } from './fleet.fixture.ts';
import { type KafkaPlace, kafkaPlace } from './kafka-place.fixture.ts';
import { joined, pagesAsked } from './lane-moves.fixture.ts';
import { memoryMb, reportFigure } from './process-figures.fixture.ts';

/**
 * Longer than all timeouts until a run connects again: 15 s for the requests in flight, and 15 s for the first request on a new connection, which a
 * paused broker accepts.
 */
const PAUSED_MS = 40_000;
const PAGE_SIZE = 200;
/** With three brokers, a leader can wait for a copy on the paused one, and a coordinator for an end marker there. */
const SILENT = /^(?:127\.0\.0\.1:\d+ isn't responding(?:, or waits for another broker)?|a broker hasn't ended a transaction yet.*)$/u;
/** Requests that come this long after the pause began weren't permitted before it, ms. */
const BREAK_MS = 2_000;
/** Pages that may wait to be written. */
const MAX_WAITING = 3;
const PACE = { kind: 'rolling', limit: 4, windowMs: 1_000 } as const;
/** With three brokers, the run works during most of the pause, so it has more work. */
const CLUSTERS = [
  { nodes: 1, pages: 30 },
  { nodes: 3, pages: 100 },
] as const;
const VERSIONS: readonly KafkaVersion[] = ['3.9.2', '4.3.1'];
const missing = new Map(
  await Promise.all(VERSIONS.map(async (version) => [version, await whyNoKafkaBroker(process.env, version)] as const)),
);

describe.concurrent(`headgate run on Kafka, each broker paused in turn for ${PAUSED_MS / 1_000} s`, { timeout: 600_000 }, () => {
  describe.each(VERSIONS)('Kafka %s', (version) => {
    const why = missing.get(version);
    const because = why === undefined ? '' : `: skipped, ${why}`;
    it.skipIf(why !== undefined).for(CLUSTERS)(
      `names the broker, continues, and writes each page once: $nodes brokers${because}`,
      async ({ nodes, pages }) => {
        const user = { followers: pages * PAGE_SIZE, pageSize: PAGE_SIZE };
        await using place = await kafkaPlace({
          users: Object.fromEntries(Array.from({ length: nodes }, (_, at) => [userOf({ id: at + 1 }), user])),
          latencyMs: { min: 100, max: 200 },
          window: PACE,
          status: '{ port: 0 }',
          replication: nodes,
          broker: { nodes, version },
          more: `  count: ${PAGE_SIZE}\n  maxOutstanding: ${MAX_WAITING * PAGE_SIZE}\n`,
        });
        for (const node of place.broker.nodes) await runThroughPause(place, node, version);
        await expectWhole(place);
        expect([askedAgain(place), refusals(place)]).toEqual([0, 0]);
      },
    );
  });
});

/** Each pause has its own run, which crawls the list of one user. */
function userOf({ id }: Pick<KafkaNode, 'id'>): string {
  return `user${id}`;
}

async function runThroughPause(place: KafkaPlace, node: KafkaNode, version: KafkaVersion): Promise<void> {
  const { fleet, broker, service } = place;
  const isAlone = broker.nodes.length === 1;
  const before = pagesAsked(place);
  const run = fleet.start('run', '--only', `followers:@${userOf(node)}`);
  const status = await joined(run);
  while (pagesAsked(place) < before + 5) await sleep(10);
  const [said, asked, memory] = [run.lines().length, pagesAsked(place), await memoryMb(run.pid)];
  const pausedMs = Date.now();
  node.pause();
  try {
    await sleep(PAUSED_MS);
    expect((await creditsOf(run, status)).filter(({ used, max }) => used > max)).toEqual([]);
    const reasons = run.lines().flatMap(({ event, reason = '' }, at) => (at >= said && event === 'log-unavailable' ? [reason] : []));
    const isTrue = (reason: string): boolean => (isAlone ? reason === `${node.address} isn't responding` : SILENT.test(reason));
    expect(reasons.filter((reason) => !isTrue(reason))).toEqual([]);
    expect(reasons.length).toBeGreaterThanOrEqual(isAlone ? 1 : 0);
    expect(pagesAsked(place) - asked).toBeLessThanOrEqual(isAlone ? MAX_WAITING : Infinity);
    const more = (await memoryMb(run.pid)).now - memory.now;
    reportFigure(
      `Kafka ${version}, broker ${node.id} of ${broker.nodes.length} paused: ${pagesAsked(place) - asked} pages, ${more} MB more`,
    );
  } finally {
    node.resume();
  }
  const { code, stderr } = await run.ended;
  expect({ code, stderr: stderr.slice(-800) }).toMatchObject({ code: 0 });
  const next = service.requests.slice(asked).find(({ at }) => at > pausedMs + BREAK_MS);
  reportFigure(`requests again ${(next?.at ?? Number.NaN) - pausedMs} ms after the pause began`);
}

interface Credit {
  readonly used: number;
  readonly max: number;
}

/** What the run has requested and not written yet. With three brokers, the run may have ended by now. */
async function creditsOf(run: Runner, status: string): Promise<readonly Credit[]> {
  if (!run.running) return [];
  return ((await (await fetch(new URL('/status.json', status))).json()) as { readonly credits: readonly Credit[] }).credits;
}
