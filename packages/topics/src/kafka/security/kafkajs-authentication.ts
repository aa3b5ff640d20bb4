import { createRequire } from 'node:module';
import type { AuthenticationProviderArgs, Authenticator, SASLOptions } from 'kafkajs';

type Authentication = (connection: AuthenticationProviderArgs) => Authenticator;

/** In kafkajs 2.2.4, which doesn't offer them in public. */
const FILES: Readonly<Record<string, string>> = { plain: 'plain', 'scram-sha-256': 'scram256', 'scram-sha-512': 'scram512', aws: 'awsIam' };

/**
 * kafkajs's own authentication, or undefined where it has none of that mechanism. As delivered it makes a refusal of every fault, a lost
 * connection and a time-out too, and keeps only the message. Here those are thrown as they are; a refusal is what a broker calls one, or
 * a broker that can't prove who it is.
 */
export function kafkajsAuthentication(sasl: SASLOptions): Authentication | undefined {
  const file = FILES[sasl.mechanism];
  if (file === undefined) return undefined;
  const load = createRequire(import.meta.url) as (path: string) => (sasl: SASLOptions) => Authentication;
  const asDelivered = load(`kafkajs/src/broker/saslAuthenticator/${file}`)(sasl);
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
        await asDelivered({ ...connection, saslAuthenticate }).authenticate();
      } catch (error) {
        throw fault === undefined || isRefusal(fault) ? error : fault;
      }
    },
  });
}

function isRefusal(fault: unknown): boolean {
  return fault instanceof Error && 'type' in fault && fault.type === 'SASL_AUTHENTICATION_FAILED';
}
