import type { KafkaConfig } from '../client/kafkajs-internals.ts';
import { bearerAuthentication } from './bearer-authentication.ts';
import { type KafkaSaslOptions, kafkajsAuthentication } from './kafkajs-authentication.ts';

/**
 * Returns the `sasl` option of kafkajs, with our own authentication for oauthbearer: kafkajs 2.2.4 doesn't read the brokers' response, so a
 * refused token looks like a closed connection. The other mechanisms are kafkajs's own, with lost connections distinguished from refusals.
 */
export function saslForKafkajs(sasl: KafkaSaslOptions): NonNullable<KafkaConfig['sasl']> {
  if (sasl.mechanism === 'oauthbearer') {
    return { mechanism: sasl.mechanism, authenticationProvider: bearerAuthentication(sasl.oauthBearerProvider) };
  }
  return { mechanism: sasl.mechanism, authenticationProvider: kafkajsAuthentication(sasl) };
}
