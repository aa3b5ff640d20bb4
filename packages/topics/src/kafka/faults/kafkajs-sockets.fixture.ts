import { createRequire } from 'node:module';
import type { ISocketFactory } from 'kafkajs';

/** kafkajs's own sockets, as its `Kafka` takes them by default. */
export const kafkajsSockets = createRequire(import.meta.url)('kafkajs/src/network/socketFactory') as () => ISocketFactory;
