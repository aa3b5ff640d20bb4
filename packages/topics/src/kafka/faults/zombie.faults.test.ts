import { whyNoKafkaBroker } from '@headgate/broker';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { LaneLostError } from '../../lane-errors.ts';
import type { TopicLog } from '../../topic-log.ts';
import { type KafkaTopicLogOptions, kafkaTopicLog } from '../index.ts';
import { newPages } from './pages.fixture.ts';
import { type ProxiedBroker, holdFirst } from './proxied-broker.fixture.ts';
import { brokerOfProtocol } from './transaction-version.fixture.ts';

const why = await whyNoKafkaBroker();
const because = why === undefined ? '' : ` (skipped: ${why})`;

describe.skipIf(why !== undefined).concurrent.for([1, 2])(
  `a holder that was frozen, in protocol %i of transactions${because}`,
  (protocol) => {
    let proxied: ProxiedBroker;
    beforeAll(async () => {
      proxied = await brokerOfProtocol(protocol);
    });
    afterAll(() => proxied.close());

    let clients = 0;
    async function open(options: Partial<KafkaTopicLogOptions> = {}): Promise<TopicLog & { readonly client: string }> {
      const client = `log-${(clients += 1)}`;
      const log = await kafkaTopicLog({ brokers: proxied.brokers, clientId: client, replication: 1, ...options });
      return Object.assign(log, { client });
    }

    it.for([...(protocol === 1 ? ['AddPartitionsToTxn'] : []), 'Produce', 'TxnOffsetCommit'])(
      'writes nothing when it wakes at its %s',
      async (api, { expect }) => {
        await using older = await open();
        await using newer = await open();
        const pages = await newPages(older);
        const writer = await older.openLane(pages.lane);
        await pages.write(writer, 2);
        const frozen = holdFirst(proxied, older.client, (request) => request.api === api);
        const late = writer.transaction(pages.content(1_000));
        late.catch(() => undefined);
        await frozen.reached;
        const newcomer = await newer.openLane(pages.lane);
        expect(newcomer.state.get('page')).toBe('1');
        await pages.write(newcomer);

        const fences = countFences(newer.client);
        frozen.letGo();
        await expect(late).rejects.toThrow(LaneLostError);
        await expect(late).rejects.toThrow(new RegExp(`taken over by process ${process.pid} on \\S+ since 2`, 'u'));
        await expect(writer.transaction(pages.content(1_001))).rejects.toThrow(LaneLostError);
        await pages.write(newcomer, 2);
        expect(fences()).toBe(0);
        await pages.verify(proxied.brokers, newer);
      },
    );

    it('has written a whole page when it is frozen at its EndTxn: the page counts', async ({ expect }) => {
      await using older = await open();
      await using newer = await open();
      const pages = await newPages(older);
      const writer = await older.openLane(pages.lane);
      await pages.write(writer, 2);
      const frozen = holdFirst(proxied, older.client, (request) => request.api === 'EndTxn');
      const late = pages.write(writer);
      await frozen.reached;
      const newcomer = await newer.openLane(pages.lane);
      expect(newcomer.state.get('page')).toBe('2');
      frozen.letGo();
      await late;
      await expect(pages.write(writer)).rejects.toThrow(LaneLostError);
      await pages.write(newcomer, 2);
      await pages.verify(proxied.brokers, newer);
    });

    it('and has committed before it lost its lane resolves, and its next transaction throws', async ({ expect }) => {
      await using older = await open();
      await using newer = await open();
      const pages = await newPages(older);
      const writer = await older.openLane(pages.lane);
      await pages.write(writer);
      const lookAgain = holdAfterCutCommit(older.client, 'ListOffsets');
      const late = pages.write(writer);
      await lookAgain.reached;
      const newcomer = await newer.openLane(pages.lane);
      expect(newcomer.state.get('page')).toBe('1');
      lookAgain.letGo();
      await late;
      await expect(pages.write(writer)).rejects.toThrow(LaneLostError);
      await pages.write(newcomer, 2);
      await pages.verify(proxied.brokers, newer);
    });

    it('is frozen right before it fences: neither it nor the newcomer continues from a state it doesn’t know', async ({ expect }) => {
      await using older = await open();
      await using newer = await open();
      const pages = await newPages(older);
      const writer = await older.openLane(pages.lane);
      await pages.write(writer);
      const fence = holdAfterCutCommit(older.client, 'InitProducerId');
      const late = pages.write(writer);
      await fence.reached;
      const newcomer = await newer.openLane(pages.lane);
      fence.letGo();
      await late;
      await expect(pages.write(writer)).rejects.toThrow(LaneLostError);
      await pages.write(newcomer).catch((error: unknown) => expect(error).toBeInstanceOf(LaneLostError));
      await using next = await newer.openLane(pages.lane);
      await pages.write(next);
      await pages.verify(proxied.brokers, newer);
    });

    it.for(['Produce', 'EndTxn'])(
      'longer than its transaction may take, at its %s, with no other process taking the lane, continues',
      async (api, { expect }) => {
        await using log = await open({ transactionTimeoutMs: 1_000 });
        const pages = await newPages(log);
        const writer = await log.openLane(pages.lane);
        await pages.write(writer);
        const frozen = holdFirst(proxied, log.client, (request) => request.api === api);
        const written = pages.write(writer);
        await frozen.reached;
        await sleep(2_500);
        const fences = countFences(log.client);
        frozen.letGo();
        await written;
        // In protocol 2, a transaction begins when its Produce request arrives, so a transaction that was frozen before that can still be in time.
        expect(fences()).toBeGreaterThanOrEqual(protocol === 1 || api === 'EndTxn' ? 1 : 0);
        await pages.write(writer, 2);
        await pages.verify(proxied.brokers, log);
      },
    );

    /** Cuts the response to the client's next commit, then delays the first request with the name `api`. */
    function holdAfterCutCommit(client: string, api: string): ReturnType<typeof holdFirst> {
      let cut = false;
      const held = holdFirst(proxied, client, (request) => cut && request.api === api);
      const hold = proxied.rules.get(client);
      proxied.rules.set(client, (request) => {
        if (cut || request.api !== 'EndTxn') return hold?.(request) ?? 'pass';
        cut = true;
        return 'cut answer';
      });
      return held;
    }

    /** Counts the client's InitProducerId requests from now on, and lets all requests pass. */
    function countFences(client: string): () => number {
      let fences = 0;
      proxied.rules.set(client, ({ api }) => {
        if (api === 'InitProducerId') fences += 1;
        return 'pass';
      });
      return () => fences;
    }
  },
);
