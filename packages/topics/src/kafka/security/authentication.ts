import { isAnswer } from '../client/driver-errors.ts';
import { TopicLogError } from '../../topic-log-error.ts';
import type { Authentication } from '../client/broker-connection.ts';
import { type BearerToken, bearerAuthentication } from './bearer-authentication.ts';
import { scram } from './scram.ts';

/** How the client authenticates to the brokers. */
export type KafkaSaslOptions =
  | KafkaPasswordOptions
  | {
      /** An OAuth 2 token, sent on each connection (KIP-255). */
      readonly mechanism: 'oauthbearer';
      /** Called for each connection, and again before a session ends. */
      readonly oauthBearerProvider: () => Promise<BearerToken>;
    };

/** A name and a password for the brokers. */
export interface KafkaPasswordOptions {
  /** As configured on the brokers. `plain` sends the password unencrypted: use it only with TLS. */
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
  /** The name that the brokers know the user by. */
  readonly username: string;
  /** A secret. */
  readonly password: string;
}

/** Throws a `TypeError` for an unsupported mechanism. */
export function authenticationOf(sasl: KafkaSaslOptions): Authentication {
  const mechanism = sasl.mechanism.toUpperCase();
  switch (sasl.mechanism) {
    case 'oauthbearer':
      return { mechanism, authenticate: bearerAuthentication(sasl.oauthBearerProvider) };
    case 'plain':
      return passwordAuthentication(sasl, async (exchange) => {
        await exchange(Buffer.from(`\0${sasl.username}\0${sasl.password}`));
      });
    case 'scram-sha-256':
    case 'scram-sha-512': {
      // Read the password each time, because it can change.
      const { mechanism: name } = sasl;
      return passwordAuthentication(sasl, (exchange) =>
        scram({ mechanism: name, username: sasl.username, password: sasl.password }, exchange),
      );
    }
  }
  const { mechanism: other } = sasl satisfies never as { readonly mechanism: string };
  throw new TypeError(`sasl: ${JSON.stringify(other)} isn't supported. Use plain, scram-sha-256, scram-sha-512 or oauthbearer.`);
}

/** Names the user and the broker in the error of a refusal. Throws the error of a lost connection, or of another response, unchanged. */
function passwordAuthentication(
  sasl: KafkaPasswordOptions,
  prove: (exchange: (message: Buffer) => Promise<Buffer>) => Promise<void>,
): Authentication {
  return {
    mechanism: sasl.mechanism.toUpperCase(),
    async authenticate(exchange, broker) {
      let fault: unknown;
      const noted = async (message: Buffer): Promise<Buffer> => {
        try {
          return await exchange(message);
        } catch (error) {
          fault = error;
          throw error;
        }
      };
      try {
        await prove(noted);
      } catch (error) {
        if (fault !== undefined && !isAnswer(fault, 'SASL_AUTHENTICATION_FAILED')) throw fault;
        throw credentialsRefused(sasl, broker, error);
      }
    },
  };
}

/** The text of `error` is the broker's, or says what is wrong with its response. Neither contains a secret. */
function credentialsRefused({ mechanism, username }: KafkaPasswordOptions, broker: string, error: unknown): TopicLogError {
  const reason = (error instanceof Error ? error.message : 'without a reason').replace(/[.\s]+$/u, '');
  const message =
    `Broker ${broker} rejected user ${JSON.stringify(username)} (${mechanism}): ${reason}. Check the name and password (sasl). The password may ` +
    'have changed, or the user may have been deleted.';
  return new TopicLogError({ code: 'HEADGATE_KAFKA_CREDENTIALS_REFUSED', message });
}
