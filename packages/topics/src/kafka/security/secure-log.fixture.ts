import { inspect } from 'node:util';
import { TopicLogError } from '../../topic-log-error.ts';
import type { TopicLog } from '../../topic-log.ts';
import { type KafkaTopicLogOptions, kafkaTopicLog } from '../index.ts';

export interface SecureLogOptions extends Omit<KafkaTopicLogOptions, 'brokers'> {
  readonly broker: { readonly nodes: readonly { readonly addresses: Readonly<Record<string, string>> }[] };
  readonly listener: string;
}

export async function secureLog({ broker, listener, sasl, ...options }: SecureLogOptions): Promise<TopicLog> {
  const brokers = broker.nodes.map(({ addresses }) => addresses[listener] ?? '');
  return await kafkaTopicLog({ brokers, replication: 1, ...options, ...(sasl !== undefined && { sasl }) });
}

export interface Refusal {
  readonly message: string;
  /** Everything that can be printed of the error, including causes and hidden properties. */
  readonly printed: string;
}

/** Opens a log, and returns how that fails. Throws if the log opens, or if it fails for a reason other than HEADGATE_TOPIC_LOG_OPEN. */
export async function refusal(options: SecureLogOptions): Promise<Refusal> {
  try {
    await using _ = await secureLog(options);
  } catch (error) {
    if (!(error instanceof TopicLogError && error.code === 'HEADGATE_TOPIC_LOG_OPEN')) throw error;
    const printed = `${inspect(error, { depth: null, showHidden: true, getters: true, maxStringLength: null })}\n${JSON.stringify(error)}`;
    return { message: error.message, printed };
  }
  throw new Error('The log was opened.');
}
