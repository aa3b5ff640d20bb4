import type { SASLOptions } from 'kafkajs';
import { bearerAuthentication } from './bearer-authentication.ts';

/**
 * What kafkajs is given for `sasl`: where the mechanism is oauthbearer, with an authentication of our own. That of kafkajs 2.2.4 doesn't read
 * the brokers' answer: a refused token counts as taken, and all that is told is a connection that closes.
 */
export function saslForKafkajs(sasl: SASLOptions): SASLOptions {
  if (sasl.mechanism !== 'oauthbearer') return sasl;
  const withAnswer = { ...sasl, authenticationProvider: bearerAuthentication(sasl.oauthBearerProvider) };
  return withAnswer;
}
