import { importPeer } from '../../install/import-peer.ts';
import type { Answer, GateFactory } from '../gate.ts';

interface Module {
  readonly default: new (options: { readonly intervalCap: number; readonly interval: number; readonly strict: boolean }) => {
    add(task: () => Promise<Answer>): Promise<Answer>;
  };
}

/** p-queue with `strict`, which selects its sliding window. */
export async function pQueueGate(folder: string): Promise<GateFactory> {
  const { default: PQueue } = await importPeer<Module>(folder, 'p-queue');
  return ({ limit, windowMs }) => {
    const queue = new PQueue({ intervalCap: limit, interval: windowMs, strict: true });
    return { pass: (send) => queue.add(send) };
  };
}
