import { createSecureContext } from 'node:tls';
import type { ConnectionOptions } from 'node:tls';
import { topicNames } from '@headgate/pipeline';
import { unreadable } from '@headgate/pipeline/internal';
import type { KafkaTopicLogOptions } from '@headgate/topics/kafka';
import type { KafkaTopicsConfig, SaslConfig } from '../config/topics-section.ts';
import { readTextFile } from '../config/read-text-file.ts';

type Sasl = NonNullable<KafkaTopicLogOptions['sasl']>;

/** The Kafka driver's options from the configuration. A connection reads secrets when it needs them. Printed options don't show them. */
export function kafkaOptions(config: KafkaTopicsConfig): KafkaTopicLogOptions {
  const { brokers, clientId, replication, settings, compression, ssl, sasl } = config;
  const names = topicNames(config);
  return {
    brokers,
    clientId,
    replication,
    compression,
    topicSettings: Object.fromEntries(Object.entries(settings).map(([name, of]) => [names(name), of])),
    ssl: typeof ssl === 'boolean' ? ssl : tlsOptions(ssl),
    ...(sasl !== undefined && { sasl: saslOptions(sasl) }),
  };
}

/** Reads the private key for each connection, so an unusable key fails the connection and not the start. Printed options don't show it. */
function tlsOptions({ ca, cert, key }: Exclude<KafkaTopicsConfig['ssl'], boolean>): ConnectionOptions {
  return {
    get secureContext() {
      return createSecureContext({
        ...(ca !== undefined && { ca }),
        ...(cert !== undefined && { cert }),
        ...(key !== undefined && { key: key() }),
      });
    },
  };
}

function saslOptions(sasl: SaslConfig): Sasl {
  if (sasl.mechanism === 'oauthbearer') {
    const { mechanism } = sasl;
    const { token, tokenFile = '' } = sasl;
    return { mechanism, oauthBearerProvider: async () => (token === undefined ? await tokenOf(tokenFile) : { value: token() }) };
  }
  const { mechanism, username, password } = sasl;
  const options = { mechanism, username, password: '' };
  // Not enumerable, so that printing and JSON.stringify don't read it.
  Object.defineProperty(options, 'password', { get: password, enumerable: false });
  return options;
}

async function tokenOf(file: string): Promise<{ readonly value: string; readonly renewedIn: string }> {
  let token: string;
  try {
    token = (await readTextFile(file)).trim();
  } catch (cause) {
    throw new TokenFileError(file, unreadable(cause), { cause });
  }
  if (token === '') throw new TokenFileError(file, 'is empty. Write the token into it.');
  return { value: token, renewedIn: `${file} (topics.sasl.tokenFile)` };
}

/** Thrown if the token file can't be read. Has no `code`, because the driver doesn't retry after an error with a code of Headgate. */
class TokenFileError extends Error {
  override readonly name = 'TokenFileError';
  readonly retryable = true;

  constructor(file: string, reason: string, options?: ErrorOptions) {
    super(`topics.sasl.tokenFile: ${file} ${reason}`, options);
  }
}
