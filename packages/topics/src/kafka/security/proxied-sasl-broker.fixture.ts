import { type ProxiedBroker, proxiedBroker } from '../faults/proxied-broker.fixture.ts';
import { type SecureBrokerOptions, addScramUser, saslBrokerOptions } from './secure-broker.fixture.ts';

interface RunningBroker {
  readonly brokers: readonly string[];
  readonly nodes: readonly { readonly addresses: Readonly<Record<string, string>> }[];
  readonly jars: string;
  readonly close: () => Promise<void>;
}

export interface ProxiedSaslBrokerOptions {
  readonly start: (options: SecureBrokerOptions) => Promise<RunningBroker>;
  readonly reauthenticateMs: number;
}

/** Like `proxiedBroker`, for clients that connect to the listener SHORT. */
export async function proxiedSaslBroker({ start, reauthenticateMs }: ProxiedSaslBrokerOptions): Promise<ProxiedBroker> {
  const { listeners, settings } = saslBrokerOptions({ reauthenticateMs });
  return await proxiedBroker(async ({ settings: { 'advertised.listeners': clients = '' } }) => {
    let broker: RunningBroker | undefined;
    // The broker also connects to itself, on the listener without security, so that listener needs a second proxy.
    const own = await proxiedBroker(async ({ settings: { 'advertised.listeners': itself = '' } }) => {
      const advertised = [itself, clients.replace('BROKER', 'SHORT')].join(',');
      broker = await start({ listeners, settings: { ...settings, 'advertised.listeners': advertised } });
      return broker;
    });
    await addScramUser({ brokers: own.brokers, jars: broker?.jars ?? '' });
    return { brokers: [broker?.nodes[0]?.addresses['SHORT'] ?? ''], close: () => own.close() };
  });
}
