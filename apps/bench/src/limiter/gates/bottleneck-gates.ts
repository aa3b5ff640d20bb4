import { importPeer } from '../../install/import-peer.ts';
import type { GateFactory } from '../gate.ts';

interface Limiter {
  schedule<T>(send: () => Promise<T>): Promise<T>;
}

interface Module {
  readonly default: new (options: Readonly<Record<string, number>>) => Limiter;
}

/** A limiter with a reservoir that is refilled in every window, as in "Reservoir Intervals" of bottleneck's README. */
export async function bottleneckReservoirGate(folder: string): Promise<GateFactory> {
  const { default: Bottleneck } = await importPeer<Module>(folder, 'bottleneck');
  return ({ limit, windowMs }) => {
    const limiter = new Bottleneck({ reservoir: limit, reservoirRefreshAmount: limit, reservoirRefreshInterval: windowMs });
    return { pass: (send) => limiter.schedule(send) };
  };
}

export async function bottleneckMinTimeGate(folder: string): Promise<GateFactory> {
  const { default: Bottleneck } = await importPeer<Module>(folder, 'bottleneck');
  return ({ limit, windowMs }) => {
    const limiter = new Bottleneck({ minTime: Math.ceil(windowMs / limit) });
    return { pass: (send) => limiter.schedule(send) };
  };
}
