import type { Clock } from '@headgate/throttle';
import type { Answer, Gate, GateFactory } from './gate.ts';
import { judge, type Judge, type JudgeVerdict } from './judge.ts';
import { type Latency, roundTripMs } from './latency.ts';
import { seededRandom } from './random.ts';
import type { WindowKind } from './server-window.ts';
import type { World } from './world.ts';

export interface CellOptions {
  readonly world: World;
  readonly gate: GateFactory;
  readonly limit: number;
  readonly windowMs: number;
  readonly durationMs: number;
  readonly latency: Latency;
  readonly seed: number;
  /** Number of crawls. Each requests its next page as soon as the limiter permits it. */
  readonly walks: number;
  /**
   * Servers that count the same requests. With `heeds`, answers come from the first one. Otherwise every answer says that the request was accepted.
   */
  readonly servers: readonly { readonly kind: WindowKind; readonly driftPpm: number }[];
  /** Interval at which the process is killed and immediately restarted, ms. Default: never. */
  readonly restartEveryMs?: number;
  /** Whether a refused client waits as long as the answer says. Default: false, so the client continues through its limiter. */
  readonly heeds?: boolean;
  /** Whether other clients use a third of the credential's limit, at random times. Default: false. */
  readonly others?: boolean;
}

export interface CellResult {
  readonly sent: number;
  readonly meanRoundTripMs: number;
  readonly leastRoundTripMs: number;
  readonly servers: readonly JudgeVerdict[];
}

/** Runs one simulation, in which crawls that always want the next page share one limiter. */
export async function runCell(options: CellOptions): Promise<CellResult> {
  const { world, gate: makeGate, limit, windowMs, durationMs, latency, seed, walks } = options;
  const { restartEveryMs = Infinity, heeds = false, others = false } = options;
  const latencies = seededRandom({ seed, stream: 1 });
  const phaseMs = seededRandom({ seed, stream: 2 })() * windowMs;
  const judges = options.servers.map(({ kind, driftPpm }) => judge({ kind, driftPpm, limit, windowMs, phaseMs }));
  const clock: Clock = {
    monotonicMs: () => world.nowMs(),
    epochMs: () => world.epochMs(),
    schedule: (delayMs, callback) => world.timer(Math.ceil(delayMs), callback),
  };
  let sent = 0;
  let roundTrips = 0;
  let leastRoundTripMs = Infinity;

  const send = (): Promise<Answer> =>
    new Promise((resolve) => {
      const took = roundTripMs(latency, latencies);
      const sentAt = world.nowMs();
      sent += 1;
      roundTrips += took;
      leastRoundTripMs = Math.min(leastRoundTripMs, took);
      let answer: Answer = { accepted: true, resetInMs: 0 };
      world.elsewhere(sentAt + took * latencies(), () => {
        const now = world.nowMs();
        for (const server of judges) {
          const accepted = server.count(now);
          if (heeds && server === judges[0]) answer = { accepted, ...server.headers(now) };
        }
      });
      world.at(sentAt + took, () => resolve(answer));
    });

  const walk = async (gate: Gate): Promise<never> => {
    for (;;) {
      const { accepted, resetInMs } = await gate.pass(send);
      if (accepted) continue;
      const waitMs = resetInMs + HEADER_GRAIN_MS;
      if (gate.hold !== undefined) gate.hold(waitMs);
      else await new Promise<void>((resolve) => world.timer(waitMs, resolve));
    }
  };
  const store = {};
  const boot = (): void => {
    const gate = makeGate({ limit, windowMs, clock, store });
    for (let i = 0; i < walks; i += 1) void walk(gate);
  };

  if (others) letOthersIn({ world, server: judges[0], meanGapMs: windowMs / (limit / 3), seed });
  for (let from = 0; from < durationMs; from += restartEveryMs) {
    world.killProcess();
    boot();
    await world.runUntil(Math.min(durationMs, from + restartEveryMs));
  }
  world.killProcess();
  return { sent, meanRoundTripMs: roundTrips / sent, leastRoundTripMs, servers: judges.map((server) => server.verdict(durationMs)) };
}

/** Precision of the times in headers, ms: whole seconds. */
const HEADER_GRAIN_MS = 1_000;

interface OthersOptions {
  readonly world: World;
  readonly server: Judge | undefined;
  readonly meanGapMs: number;
  readonly seed: number;
}

const OTHERS_POLL_MS = 1_000;

/** Makes other clients send requests at random times, on average one per `meanGapMs`. Refused ones are repeated every second. */
function letOthersIn({ world, server, meanGapMs, seed }: OthersOptions): void {
  const random = seededRandom({ seed, stream: 3 });
  const gap = (): number => -Math.log(1 - random()) * meanGapMs;
  let nextAt = gap();
  let pending = 0;
  const poll = (): void => {
    const now = world.nowMs();
    for (; nextAt <= now; nextAt += gap()) pending += 1;
    while (pending > 0 && server?.countOther(now) === true) pending -= 1;
    world.elsewhere(now + OTHERS_POLL_MS, poll);
  };
  world.elsewhere(random() * OTHERS_POLL_MS, poll);
}
