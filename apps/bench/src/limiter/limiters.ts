import type { GateFactory } from './gate.ts';
import { bottleneckMinTimeGate, bottleneckReservoirGate } from './gates/bottleneck-gates.ts';
import { forgetfulHeadgateGate, headgateGate } from './gates/headgate-gate.ts';
import { limiterGate } from './gates/limiter-gate.ts';
import { pQueueGate } from './gates/p-queue-gate.ts';
import { pThrottleGate } from './gates/p-throttle-gate.ts';
import { rateLimiterFlexibleGate } from './gates/rate-limiter-flexible-gate.ts';

/** Functions that load a limiter from the folder of the peers, by the limiter's name in the table. */
export const LIMITERS: Readonly<Record<string, (folder: string) => Promise<GateFactory>>> = {
  Headgate: () => Promise.resolve(headgateGate),
  'Headgate, no journal': () => Promise.resolve(forgetfulHeadgateGate),
  'bottleneck, reservoir': bottleneckReservoirGate,
  'bottleneck, minTime': bottleneckMinTimeGate,
  'p-throttle': pThrottleGate,
  'p-queue': pQueueGate,
  limiter: limiterGate,
  'rate-limiter-flexible': rateLimiterFlexibleGate,
};
