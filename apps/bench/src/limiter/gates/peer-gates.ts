import { importPeer } from '../../install/import-peer.ts';
import type { PeerName } from '../../install/peer-versions.ts';
import type { Answer, Gate, GateFactory, GateOptions } from '../gate.ts';

type Send = () => Promise<Answer>;
type Open = (folder: string) => Promise<GateFactory>;
type Class<Limiter> = new (options: Readonly<Record<string, number | boolean>>) => Limiter;

/** A gate that creates the peer's limiter, and passes each request through it. `Module`: the part of the peer that the gate uses. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- The caller states it, because a peer isn't installed when types are checked.
function gateOf<Module>(name: PeerName, limited: (module: Module, options: GateOptions) => Gate['pass']): Open {
  return async (folder) => {
    const module = await importPeer<Module>(folder, name);
    return (options) => ({ pass: limited(module, options) });
  };
}

function bottleneckGate(options: (limit: number, windowMs: number) => Readonly<Record<string, number>>): Open {
  return gateOf<{ readonly default: Class<{ schedule(send: Send): Promise<Answer> }> }>(
    'bottleneck',
    ({ default: Bottleneck }, { limit, windowMs }) => {
      const limiter = new Bottleneck(options(limit, windowMs));
      return (send) => limiter.schedule(send);
    },
  );
}

/** A limiter with a reservoir that is refilled in every window, as in "Reservoir Intervals" of bottleneck's README. */
export const bottleneckReservoirGate = bottleneckGate((limit, windowMs) => ({
  reservoir: limit,
  reservoirRefreshAmount: limit,
  reservoirRefreshInterval: windowMs,
}));

export const bottleneckMinTimeGate = bottleneckGate((limit, windowMs) => ({ minTime: Math.ceil(windowMs / limit) }));

/** p-throttle with `strict`, which selects its sliding window. */
export const pThrottleGate = gateOf<{ readonly default: (options: object) => (task: (send: Send) => Promise<Answer>) => Gate['pass'] }>(
  'p-throttle',
  ({ default: pThrottle }, { limit, windowMs }) => pThrottle({ limit, interval: windowMs, strict: true })((send) => send()),
);

/** p-queue with `strict`, which selects its sliding window. */
export const pQueueGate = gateOf<{ readonly default: Class<{ add(task: Send): Promise<Answer> }> }>(
  'p-queue',
  ({ default: PQueue }, { limit, windowMs }) => {
    const queue = new PQueue({ intervalCap: limit, interval: windowMs, strict: true });
    return (send) => queue.add(send);
  },
);

interface TokenBucket {
  removeTokens(count: number): Promise<number>;
}

function afterToken(bucket: TokenBucket): Gate['pass'] {
  return async (send) => {
    await bucket.removeTokens(1);
    return send();
  };
}

/** The `RateLimiter` of the package limiter: a token bucket with a count per interval. */
export const limiterGate = gateOf<{ readonly RateLimiter: Class<TokenBucket> }>('limiter', ({ RateLimiter }, { limit, windowMs }) =>
  afterToken(new RateLimiter({ tokensPerInterval: limit, interval: windowMs })),
);

/** `RateLimiterMemory` in a `RateLimiterQueue`, as its wiki recommends for requests to the API of a third party. */
export const rateLimiterFlexibleGate = gateOf<{
  readonly default: { readonly RateLimiterMemory: Class<object>; readonly RateLimiterQueue: new (limiter: object) => TokenBucket };
}>('rate-limiter-flexible', ({ default: flexible }, { limit, windowMs }) =>
  afterToken(new flexible.RateLimiterQueue(new flexible.RateLimiterMemory({ points: limit, duration: windowMs / 1000 }))),
);
