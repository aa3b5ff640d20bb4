import { importPeer } from '../../install/import-peer.ts';
import type { GateFactory } from '../gate.ts';

interface Module {
  readonly default: {
    readonly RateLimiterMemory: new (options: { readonly points: number; readonly duration: number }) => object;
    readonly RateLimiterQueue: new (limiter: object) => { removeTokens(count: number): Promise<number> };
  };
}

/** `RateLimiterMemory` in a `RateLimiterQueue`, as its wiki recommends for requests to the API of a third party. */
export async function rateLimiterFlexibleGate(folder: string): Promise<GateFactory> {
  const { default: flexible } = await importPeer<Module>(folder, 'rate-limiter-flexible');
  return ({ limit, windowMs }) => {
    const queue = new flexible.RateLimiterQueue(new flexible.RateLimiterMemory({ points: limit, duration: windowMs / 1000 }));
    return {
      async pass(send) {
        await queue.removeTokens(1);
        return send();
      },
    };
  };
}
