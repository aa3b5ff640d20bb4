import { TopicLogError } from '../../topic-log-error.ts';
import { authenticators, type AuthenticationProviderArgs, type Authenticator, type KafkaConfig } from '../client/kafkajs-internals.ts';
import { type BearerToken, bearerAuthentication } from './bearer-authentication.ts';

type Authentication = (connection: AuthenticationProviderArgs) => Authenticator;

/** How the client authenticates to the brokers. */
export type KafkaSaslOptions =
  | KafkaPasswordOptions
  | {
      /**
       * The mechanism `AWS` of kafkajs, for brokers with a login module for it (kafka-auth-aws-iam); Amazon MSK has its own, different one.
       */
      readonly mechanism: 'aws';
      /** Unique ID of the user or role, such as `AIDA…`. */
      readonly authorizationIdentity: string;
      readonly accessKeyId: string;
      /** A secret. */
      readonly secretAccessKey: string;
      /** A secret, of temporary credentials. Default: empty. */
      readonly sessionToken?: string;
    }
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

type PlainSasl = Exclude<KafkaSaslOptions, { readonly mechanism: 'oauthbearer' }>;

const { plain, scram256, scram512, awsIam } = authenticators;
const MECHANISMS = { plain, 'scram-sha-256': scram256, 'scram-sha-512': scram512, aws: awsIam } as const satisfies Readonly<
  Record<PlainSasl['mechanism'], unknown>
>;

/**
 * Returns the `sasl` option for kafkajs. For oauthbearer, it uses Headgate's own authentication: kafkajs 2.2.4 doesn't read the brokers' response, so
 * a refused token would look like a closed connection. For the other mechanisms, it wraps kafkajs's authentication, so that a lost connection doesn't
 * look like a refusal.
 */
export function saslForKafkajs(sasl: KafkaSaslOptions): NonNullable<KafkaConfig['sasl']> {
  if (sasl.mechanism === 'oauthbearer') {
    return { mechanism: sasl.mechanism, authenticationProvider: bearerAuthentication(sasl.oauthBearerProvider) };
  }
  return { mechanism: sasl.mechanism, authenticationProvider: kafkajsAuthentication(sasl) };
}

/**
 * kafkajs's own authentication. Throws a `TypeError` for an unsupported mechanism. kafkajs itself reports every error as a refusal, even a lost
 * connection or a timeout, and keeps only the message. Here, the error of a request is thrown unchanged unless it is SASL_AUTHENTICATION_FAILED. An
 * error that kafkajs finds in a response, such as a broker's wrong signature, is a refusal.
 */
export function kafkajsAuthentication(sasl: PlainSasl): Authentication {
  if (!Object.hasOwn(MECHANISMS, sasl.mechanism)) {
    throw new TypeError(
      `sasl: ${JSON.stringify(sasl.mechanism)} isn't supported. Use ${Object.keys(MECHANISMS).join(', ')} or oauthbearer.`,
    );
  }
  const original = MECHANISMS[sasl.mechanism](sasl);
  return (connection) => ({
    async authenticate() {
      let fault: unknown;
      const saslAuthenticate: typeof connection.saslAuthenticate = async (messages) => {
        try {
          return await connection.saslAuthenticate(messages);
        } catch (error) {
          fault = error;
          throw error;
        }
      };
      try {
        await original({ ...connection, saslAuthenticate }).authenticate();
      } catch (error) {
        if (fault !== undefined && !isRefusal(fault)) throw fault;
        const { mechanism } = sasl;
        const user = 'username' in sasl ? `user ${JSON.stringify(sasl.username)}` : 'this user';
        const broker = `${connection.host}:${connection.port}`;
        throw credentialsRefused(`Broker ${broker} rejected ${user} (${mechanism}): ${reasonOf(fault ?? error)}`);
      }
    },
  });
}

/** Returns the broker's text, or kafkajs's if kafkajs found the error in a response. Neither contains a secret. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : 'without a reason';
  return message.replace(/^SASL .*? authentication failed: /u, '').replace(/[.\s]+$/u, '');
}

function credentialsRefused(refusal: string): Error {
  const message = `${refusal}. Check the name and password (sasl). The password may have changed, or the user may have been deleted.`;
  // Otherwise, kafkajs would retry.
  return Object.assign(new TopicLogError({ code: 'HEADGATE_KAFKA_CREDENTIALS_REFUSED', message }), { retriable: false });
}

function isRefusal(fault: unknown): boolean {
  return fault instanceof Error && 'type' in fault && fault.type === 'SASL_AUTHENTICATION_FAILED';
}
