import { importPeer } from '../../install/import-peer.ts';
import type { GateFactory } from '../gate.ts';

interface Module {
  readonly RateLimiter: new (options: { readonly tokensPerInterval: number; readonly interval: number }) => {
    removeTokens(count: number): Promise<number>;
  };
}

/** The `RateLimiter` of the package limiter: a token bucket with a count per interval. */
export async function limiterGate(folder: string): Promise<GateFactory> {
  const { RateLimiter } = await importPeer<Module>(folder, 'limiter');
  return ({ limit, windowMs }) => {
    const limiter = new RateLimiter({ tokensPerInterval: limit, interval: windowMs });
    return {
      async pass(send) {
        await limiter.removeTokens(1);
        return send();
      },
    };
  };
}
