import type { KafkaConfig, SASLOptions } from 'kafkajs';
import { type BearerToken, bearerAuthentication } from './bearer-authentication.ts';
import { kafkajsAuthentication } from './kafkajs-authentication.ts';

/** Who we are to the brokers: kafkajs's options, and with a bearer token whether another will come when it has expired. */
export type KafkaSaslOptions =
  | Exclude<SASLOptions, { readonly mechanism: 'oauthbearer' }>
  | { readonly mechanism: 'oauthbearer'; readonly oauthBearerProvider: () => Promise<BearerToken> };

/**
 * What kafkajs is given for `sasl`: where the mechanism is oauthbearer, with an authentication of our own. That of kafkajs 2.2.4 doesn't read
 * the brokers' answer: a refused token counts as taken, and all that is told is a connection that closes. Its others are
 * kafkajs's own, with lost connections told from refusals.
 */
export function saslForKafkajs(sasl: KafkaSaslOptions): NonNullable<KafkaConfig['sasl']> {
  if (sasl.mechanism === 'oauthbearer') {
    return { mechanism: sasl.mechanism, authenticationProvider: bearerAuthentication(sasl.oauthBearerProvider) };
  }
  const authenticationProvider = kafkajsAuthentication(sasl);
  return authenticationProvider === undefined ? sasl : { mechanism: sasl.mechanism, authenticationProvider };
}
