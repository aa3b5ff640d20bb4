import type { KafkaConfig, SASLOptions } from 'kafkajs';
import { bearerAuthentication } from './bearer-authentication.ts';
import { kafkajsAuthentication } from './kafkajs-authentication.ts';

/**
 * What kafkajs is given for `sasl`: where the mechanism is oauthbearer, with an authentication of our own. That of kafkajs 2.2.4 doesn't read
 * the brokers' answer: a refused token counts as taken, and all that is told is a connection that closes. Its others are
 * kafkajs's own, with lost connections told from refusals.
 */
export function saslForKafkajs(sasl: SASLOptions): NonNullable<KafkaConfig['sasl']> {
  const { mechanism } = sasl;
  const authenticationProvider = mechanism === 'oauthbearer' ? bearerAuthentication(sasl.oauthBearerProvider) : kafkajsAuthentication(sasl);
  return authenticationProvider === undefined ? sasl : { mechanism, authenticationProvider };
}
