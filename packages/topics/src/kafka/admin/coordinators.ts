import { setTimeout as sleep } from 'node:timers/promises';
import { type TopicMismatch, TopicMismatchError } from '../../topic-errors.ts';
import { MissingRightError } from '../../missing-right-error.ts';
import type { Cluster } from '../client/cluster.ts';
import { topicMetadata } from '../client/topic-metadata.ts';
import { createTopics, describeConfigs } from '../requests/topics.ts';
import { isAnswer } from '../client/driver-errors.ts';

/** The brokers' topics that coordinators write to, by the setting of brokers that says how many replicas such a topic is created with. */
const INTERNAL: ReadonlyMap<string, string> = new Map([
  ['transaction.state.log.replication.factor', '__transaction_state'],
  ['offsets.topic.replication.factor', '__consumer_offsets'],
]);
/** A cluster that is starting may not have all of its brokers yet. */
const LOOKS = 6;
const PAUSE_MS = 500;

/**
 * Throws a `TopicMismatchError` if the brokers can't create a topic that their coordinators need, because they are fewer than its replicas. Such
 * brokers respond to each request for a coordinator that there is none yet, for ever. Checks nothing if this user may not see those topics or the
 * brokers' settings.
 */
export async function assertCoordinators(cluster: Cluster): Promise<void> {
  for (let looks = 1; ; looks += 1) {
    const mismatch = await lackingCopies(cluster).catch((error: unknown) => {
      if (error instanceof MissingRightError) return undefined;
      throw error;
    });
    if (mismatch === undefined) return;
    if (looks === LOOKS) throw new TopicMismatchError(mismatch);
    await sleep(PAUSE_MS);
  }
}

async function lackingCopies(cluster: Cluster): Promise<TopicMismatch | undefined> {
  const found = await topicMetadata(cluster, [...INTERNAL.values()]);
  const missing = [...INTERNAL].filter(([, topic]) => !found.has(topic));
  const nodes = await cluster.fetchNodes();
  const [first] = nodes;
  if (missing.length === 0 || first === undefined) return undefined;
  const [nodeId, broker] = [String(first[0]), first[1]];
  const names = missing.map(([setting]) => setting);
  // A broker describes only itself.
  const settings = (await cluster.ask(describeConfigs, { of: 'broker', names: [nodeId], settings: names }, { broker })).get(nodeId);
  const [lacking] = missing.filter(([setting]) => Number(settings?.get(setting) ?? 1) > nodes.size);
  if (lacking === undefined) return undefined;
  const [setting, topic] = lacking;
  // A broker that is down but registered counts, which only the brokers know.
  const wanted = { topic, partitions: 1, replication: Number(settings?.get(setting)), settings: {} };
  const refused = await cluster.ask(createTopics, { topics: [wanted], validateOnly: true }).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!isAnswer(refused, 'INVALID_REPLICATION_FACTOR')) return undefined;
  const reason =
    `can't be created: the brokers have ${setting}=${settings?.get(setting)}, but only ${nodes.size === 1 ? 'one broker is' : `${nodes.size} brokers are`} ` +
    `reachable. Start more brokers, or set it to ${nodes.size} on the brokers and restart them.`;
  return { topic, reason };
}
