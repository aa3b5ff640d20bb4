import type { GateFactory } from './gate.ts';
import { forgetfulHeadgateGate, headgateGate } from './gates/headgate-gate.ts';
import {
  bottleneckMinTimeGate,
  bottleneckReservoirGate,
  limiterGate,
  pQueueGate,
  pThrottleGate,
  rateLimiterFlexibleGate,
} from './gates/peer-gates.ts';

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
