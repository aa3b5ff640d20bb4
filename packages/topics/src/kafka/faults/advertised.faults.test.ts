import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { type KafkaBroker, startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { AvailabilityChange } from '../../availability.ts';
import { kafkaTopicLog } from '../index.ts';
import { refusal } from '../security/secure-log.fixture.ts';
import { type ProxiedBroker, proxiedBroker } from './proxied-broker.fixture.ts';

const why = await whyNoKafkaBroker();

describe
  .skipIf(why !== undefined)
  .concurrent(
    `brokers that cannot be reached at their advertised addresses${why === undefined ? '' : ` (skipped: ${why})`}`,
    { timeout: 600_000 },
    () => {
      // Accepts connections, but never responds.
      const mute = createServer();
      let broker: KafkaBroker;
      let proxied: ProxiedBroker;
      const advertised: Record<string, string> = { REFUSED: '127.0.0.1:1', UNKNOWN: 'broker.invalid:9092' };

      beforeAll(async () => {
        mute.listen(0, '127.0.0.1');
        await once(mute, 'listening');
        advertised['MUTE'] = `127.0.0.1:${(mute.address() as AddressInfo).port}`;
        proxied = await proxiedBroker(async ({ settings: { 'advertised.listeners': itself = '' } }) => {
          const all = [itself, ...Object.entries(advertised).map(([name, address]) => `${name}://${address}`)].join(',');
          const listeners = { REFUSED: 'PLAINTEXT', UNKNOWN: 'PLAINTEXT', MUTE: 'PLAINTEXT' } as const;
          broker = await startKafkaBroker({ listeners, settings: { 'advertised.listeners': all } });
          return broker;
        });
      });
      afterAll(async () => {
        await proxied.close();
        mute.close();
      });

      it.for([
        ['REFUSED', 'connect ECONNREFUSED 127.0.0.1:1'],
        ['UNKNOWN', 'getaddrinfo E'],
        ['MUTE', "isn't responding"],
      ] as const)('are reported at the opening with both addresses and the cure: %s', async ([listener, reason], { expect }) => {
        const { message } = await refusal({ broker, listener });
        expect(message).toContain(
          `on Kafka at ${broker.nodes[0]?.addresses[listener]} can't be opened: the brokers advertise ${advertised[listener]} (as reported by ` +
            `${broker.nodes[0]?.addresses[listener]}), but no broker answers there: `,
        );
        expect(message).toContain(reason);
        expect(message).toMatch(/If that broker is running, set its advertised\.listeners to an address that this machine can reach\.$/u);
      });

      it('a group that does not respond is reported during the join, and continues automatically', async ({ expect }) => {
        const changes: AvailabilityChange[] = [];
        const onAvailability = (change: AvailabilityChange): void => void changes.push(change);
        await using log = await kafkaTopicLog({ brokers: proxied.brokers, clientId: 'newcomer', replication: 1, onAvailability });
        await log.createTopics([{ name: 'requests', partitions: 1 }]);
        proxied.rules.set('newcomer', ({ api }) => (api === 'FindCoordinator' ? 'cut request' : 'pass'));
        const nothing = (): void => undefined;
        const terms = { group: 'newcomers', topics: ['requests'], agreement: 'same' };
        const joining = log.joinGroup({ ...terms, onAssigned: nothing, onUncertain: nothing, onFailed: nothing });
        const told = { available: false, reason: expect.any(String), sinceMs: expect.any(Number) };
        await expect.poll(() => changes).toEqual([told]);
        proxied.rules.delete('newcomer');
        await (await joining).leave();
        expect(changes.slice(1)).toEqual([{ available: true }]);
      });
    },
  );
