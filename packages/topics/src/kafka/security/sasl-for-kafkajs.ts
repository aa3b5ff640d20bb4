import type { KafkaConfig } from 'kafkajs';
import { type BearerToken, bearerAuthentication } from './bearer-authentication.ts';
import { kafkajsAuthentication } from './kafkajs-authentication.ts';

/** The user that the brokers are to know, and how it proves that. */
export type KafkaSaslOptions =
  | KafkaPasswordOptions
  | {
      readonly mechanism: 'aws';
      readonly authorizationIdentity: string;
      readonly accessKeyId: string;
      readonly secretAccessKey: string;
      readonly sessionToken?: string;
    }
  | {
      readonly mechanism: 'oauthbearer';
      /** Asked for each connection, and again when a session ends. */
      readonly oauthBearerProvider: () => Promise<BearerToken>;
    };

export interface KafkaPasswordOptions {
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
  readonly username: string;
  readonly password: string;
}

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
