import { importPeer } from '../../install/import-peer.ts';
import type { Answer, GateFactory } from '../gate.ts';

type Send = () => Promise<Answer>;

interface Module {
  readonly default: (options: {
    readonly limit: number;
    readonly interval: number;
    readonly strict: boolean;
  }) => (task: (send: Send) => Promise<Answer>) => (send: Send) => Promise<Answer>;
}

/** p-throttle with `strict`, which selects its sliding window. */
export async function pThrottleGate(folder: string): Promise<GateFactory> {
  const { default: pThrottle } = await importPeer<Module>(folder, 'p-throttle');
  return ({ limit, windowMs }) => {
    const pass = pThrottle({ limit, interval: windowMs, strict: true })((send) => send());
    return { pass: (send) => pass(send) };
  };
}
