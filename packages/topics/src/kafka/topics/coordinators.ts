import { TopicMismatchError } from '../../topic-errors.ts';
import { MissingRightError } from '../../missing-right-error.ts';
import type { Cluster } from '../client/cluster.ts';
import { createTopics, describeConfigs } from '../requests/topics.ts';
import { isAnswer } from '../client/driver-errors.ts';
import { topicMetadata } from './topic-metadata.ts';

/** The brokers' topics that coordinators write to, by the setting of brokers that says how many replicas such a topic is created with. */
const INTERNAL: ReadonlyMap<string, string> = new Map([
  ['transaction.state.log.replication.factor', '__transaction_state'],
  ['offsets.topic.replication.factor', '__consumer_offsets'],
]);

/**
 * Throws a `TopicMismatchError` if the brokers can't create a topic that their coordinators need, because they are fewer than its replicas. Such
 * brokers respond to each request for a coordinator that there is none yet, for ever. Checks nothing if this user may not see those topics or the
 * brokers' settings.
 */
export async function assertCoordinators(cluster: Cluster): Promise<void> {
  await assertCopies(cluster).catch((error: unknown) => {
    if (!(error instanceof MissingRightError)) throw error;
  });
}

async function assertCopies(cluster: Cluster): Promise<void> {
  const found = await topicMetadata(cluster, [...INTERNAL.values()]);
  const missing = [...INTERNAL].filter(([, topic]) => !found.has(topic));
  if (missing.length === 0) return;
  const { nodes } = cluster;
  const [first] = nodes;
  if (first === undefined) return;
  const [nodeId, broker] = [String(first[0]), first[1]];
  const names = missing.map(([setting]) => setting);
  // A broker describes only itself.
  const settings = (await cluster.ask(describeConfigs, { of: 'broker', names: [nodeId], settings: names }, { broker })).get(nodeId);
  const [lacking] = missing.filter(([setting]) => Number(settings?.get(setting) ?? 1) > nodes.size);
  if (lacking === undefined) return;
  const [setting, topic] = lacking;
  const replication = Number(settings?.get(setting));
  try {
    // A broker that is down but registered counts, which only the brokers know.
    await cluster.ask(createTopics, { topics: [{ topic, partitions: 1, replication, settings: {} }], validateOnly: true });
  } catch (error) {
    if (!isAnswer(error, 'INVALID_REPLICATION_FACTOR')) return;
    const reason =
      `can't be created: the brokers have ${setting}=${replication}, but only ${nodes.size === 1 ? 'one broker is' : `${nodes.size} brokers are`} ` +
      `reachable. Start more brokers, or set it to ${nodes.size} on the brokers and restart them.`;
    throw new TopicMismatchError({ topic, reason }, { cause: error });
  }
}
