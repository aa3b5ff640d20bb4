import { createRequire } from 'node:module';
import type { ISocketFactory } from 'kafkajs';

/** kafkajs's own socket factory, which its class `Kafka` uses by default. */
export const kafkajsSockets = createRequire(import.meta.url)('kafkajs/src/network/socketFactory') as () => ISocketFactory;
