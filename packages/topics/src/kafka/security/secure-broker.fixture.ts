import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Certificates } from './certificates.fixture.ts';

export const USER = 'alice';
export const PASSWORD = 'wonder-land-2';

const security = 'org.apache.kafka.common.security';
const bearer = `${security}.oauthbearer`;

export interface SecureBrokerOptions {
  readonly listeners: Readonly<Record<string, 'PLAINTEXT' | 'SSL' | 'SASL_PLAINTEXT' | 'SASL_SSL'>>;
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * Options of a broker with two listeners, OPEN and SHORT, which accept all of `MECHANISMS`. On SHORT, a client must authenticate again within
 * `reauthenticateMs`. The caller must add the SCRAM user.
 */
export function saslBrokerOptions({ reauthenticateMs }: { readonly reauthenticateMs: number }): SecureBrokerOptions {
  return {
    listeners: { OPEN: 'SASL_PLAINTEXT', SHORT: 'SASL_PLAINTEXT' },
    settings: { ...saslSettings('open'), ...saslSettings('short'), ...reauthentication('short', reauthenticateMs) },
  };
}

/** Options of a broker with the listeners PLAIN, TLS, MUTUAL (clients need a certificate) and SASL (over TLS). */
export function tlsBrokerOptions(certificates: Certificates): SecureBrokerOptions {
  return {
    listeners: { PLAIN: 'PLAINTEXT', TLS: 'SSL', MUTUAL: 'SSL', SASL: 'SASL_SSL' },
    settings: {
      'ssl.keystore.type': 'PEM',
      'ssl.keystore.location': certificates.keyStore,
      'ssl.truststore.type': 'PEM',
      'ssl.truststore.location': certificates.trustStore,
      'listener.name.mutual.ssl.client.auth': 'required',
      ...saslSettings('sasl'),
    },
  };
}

const MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer'];

function saslSettings(listener: string): Readonly<Record<string, string>> {
  const name = `listener.name.${listener}`;
  return {
    [`${name}.sasl.enabled.mechanisms`]: MECHANISMS.join(',').toUpperCase(),
    [`${name}.plain.sasl.jaas.config`]: `${security}.plain.PlainLoginModule required user_${USER}="${PASSWORD}";`,
    [`${name}.scram-sha-256.sasl.jaas.config`]: `${security}.scram.ScramLoginModule required;`,
    [`${name}.scram-sha-512.sasl.jaas.config`]: `${security}.scram.ScramLoginModule required;`,
    [`${name}.oauthbearer.sasl.jaas.config`]: `${bearer}.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";`,
    [`${name}.oauthbearer.sasl.server.callback.handler.class`]: `${bearer}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler`,
  };
}

function reauthentication(listener: string, milliseconds: number): Readonly<Record<string, string>> {
  return Object.fromEntries(
    MECHANISMS.map((mechanism) => [`listener.name.${listener}.${mechanism}.connections.max.reauth.ms`, String(milliseconds)]),
  );
}

export interface AddScramUserOptions {
  /** Addresses of a listener without security. */
  readonly brokers: readonly string[];
  /** Class path of Kafka's tools. */
  readonly jars: string;
}

/** Adds the user for both SCRAM mechanisms, in two requests, because one request can contain a user only once. */
export async function addScramUser({ brokers, jars }: AddScramUserOptions): Promise<void> {
  const java = process.env['JAVA_HOME'] ? `${process.env['JAVA_HOME']}/bin/java` : 'java';
  const tool = [
    '-Xmx128m',
    '-XX:TieredStopAtLevel=1',
    '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
    '-cp',
    jars,
    'kafka.admin.ConfigCommand',
  ];
  const user = ['--bootstrap-server', brokers.join(','), '--alter', '--entity-type', 'users', '--entity-name', USER];
  await Promise.all(
    ['SCRAM-SHA-256', 'SCRAM-SHA-512'].map((mechanism) =>
      promisify(execFile)(java, [...tool, ...user, '--add-config', `${mechanism}=[iterations=4096,password=${PASSWORD}]`]),
    ),
  );
}
