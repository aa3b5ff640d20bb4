import type { KafkaConfig } from 'kafkajs';
import { bearerAuthentication } from './bearer-authentication.ts';
import { type KafkaSaslOptions, kafkajsAuthentication } from './kafkajs-authentication.ts';

/**
 * What kafkajs is given for `sasl`: where the mechanism is oauthbearer, with an authentication of our own. That of kafkajs 2.2.4 doesn't read
 * the brokers' answer: a refused token counts as taken, and all that is told is a connection that closes. Its others are
 * kafkajs's own, with lost connections told from refusals.
 */
export function saslForKafkajs(sasl: KafkaSaslOptions): NonNullable<KafkaConfig['sasl']> {
  if (sasl.mechanism === 'oauthbearer') {
    return { mechanism: sasl.mechanism, authenticationProvider: bearerAuthentication(sasl.oauthBearerProvider) };
  }
  return { mechanism: sasl.mechanism, authenticationProvider: kafkajsAuthentication(sasl) };
}
