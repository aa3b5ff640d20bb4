import type { Broker } from './broker.ts';
import { KafkajsEncoder, requests } from './kafkajs-internals.ts';

/** A partition as a broker describes it, with or without a leader. */
export interface PartitionMetadata {
  readonly partitionId: number;
  /** Its node id; -1 for none. */
  readonly leader: number;
  readonly replicas: readonly number[];
}

export interface MetadataAnswer {
  /** Those that are up. */
  readonly brokers: readonly object[];
  readonly topicMetadata: readonly {
    readonly topic: string;
    readonly topicErrorCode: number;
    readonly partitionMetadata: readonly PartitionMetadata[];
  }[];
}

/** Internals of kafkajs's broker that send a request of its own making. */
interface SendingBroker extends Broker {
  /** The newest form both sides know. */
  lookupRequest(apiKey: number, definition: unknown): (options: object) => { readonly request: object; readonly response: object };
  readonly connectionPool: Broker['connectionPool'] & { send(request: object): Promise<unknown> };
}

const METADATA = 3;

/**
 * Sends a Metadata request for the named topics, none where the list is empty, or all (null), and returns the answer as it came. kafkajs
 * takes an empty list for all topics, and throws when a partition of any topic in the cluster has no leader. The request never creates a
 * topic.
 */
export async function askBroker(broker: Broker, names: readonly string[] | null): Promise<MetadataAnswer> {
  const sending = broker as SendingBroker;
  const { request, response } = sending.lookupRequest(METADATA, requests.Metadata)({ topics: [] });
  const body = new KafkajsEncoder().writeArray(names ?? [], 'string', names?.length ?? -1).writeBoolean(false);
  return (await sending.connectionPool.send({
    request: { ...request, encode: () => Promise.resolve(body) },
    // kafkajs's own throws the first error in it, and keeps to itself what that is about.
    response: { ...response, parse: (answer: unknown) => Promise.resolve(answer) },
  })) as MetadataAnswer;
}
