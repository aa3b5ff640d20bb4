import { createRequire } from 'node:module';
import type { ISocketFactory, Producer } from 'kafkajs';
import type { Coordinator } from '../client/coordinator.ts';
import type { Broker } from '../client/broker.ts';
import { KafkajsCluster, clusterOptions } from '../client/kafkajs-cluster.ts';
import { plainKafka } from './committed-records.fixture.ts';

const require = createRequire(import.meta.url);
const createProducer = require('kafkajs/src/producer') as (options: object) => Producer;
const socketFactory = require('kafkajs/src/network/socketFactory') as () => ISocketFactory;

/** A broker that lets transactions write where they have not said they would. */
export const FORGETFUL = { 'transaction.partition.verification.enable': 'false' };

/**
 * kafkajs's producer, whose coordinator does not hear of one topic: what it writes there gets no mark when its transaction ends, as from a
 * broker that was killed between the decision and the marks.
 */
export function forgottenTopicProducer(brokers: readonly string[], transactionalId: string, forgotten: string): Producer {
  const kafka = plainKafka(brokers);
  class ForgetfulCluster extends KafkajsCluster {
    override async findGroupCoordinator(options: { readonly groupId: string; readonly coordinatorType?: number }): Promise<Broker> {
      const coordinator = (await super.findGroupCoordinator(options)) as Coordinator;
      const addPartitionsToTxn: Coordinator['addPartitionsToTxn'] = async (request) => {
        const topics = request.topics.filter(({ topic }) => topic !== forgotten);
        return topics.length === 0 ? undefined : await coordinator.addPartitionsToTxn({ ...request, topics });
      };
      const answering: Partial<Coordinator> = {
        initProducerId: (request) => coordinator.initProducerId(request),
        endTxn: (request) => coordinator.endTxn(request),
        addPartitionsToTxn,
      };
      return answering as Broker;
    }
  }
  const cluster = new ForgetfulCluster({
    ...clusterOptions(kafka, { brokers: [...brokers], socketFactory: socketFactory() }),
    maxInFlightRequests: 1,
  });
  return createProducer({ cluster, logger: kafka.logger(), idempotent: true, transactionalId, transactionTimeout: 60_000 });
}

/** The next transaction in this process that writes to `forgotten` doesn't register it with its coordinator. */
export function forgetOnce(forgotten: string): void {
  const { prototype } = require('kafkajs/src/broker') as { readonly prototype: Coordinator };
  const method = Reflect.get(prototype, 'addPartitionsToTxn') as (this: Coordinator, request: object) => Promise<unknown>;
  prototype.addPartitionsToTxn = function (this: Coordinator, request) {
    if (request.topics.every(({ topic }) => topic !== forgotten)) return method.call(this, request);
    prototype.addPartitionsToTxn = method;
    return method.call(this, { ...request, topics: request.topics.filter(({ topic }) => topic !== forgotten) });
  };
}
