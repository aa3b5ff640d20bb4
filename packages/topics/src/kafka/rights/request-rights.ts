import { type MissingRight, MissingRightError, type ResourceKind } from '../../missing-right-error.ts';
import { chain } from '../client/driver-errors.ts';

/** How brokers refuse an operation, by what it was to be done on. */
const REFUSALS: Readonly<Record<string, ResourceKind>> = {
  TOPIC_AUTHORIZATION_FAILED: 'topic',
  GROUP_AUTHORIZATION_FAILED: 'group',
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 'transactional id',
  CLUSTER_AUTHORIZATION_FAILED: 'cluster',
};

type Operations = Readonly<Partial<Record<ResourceKind, readonly string[]>>>;

/** The operations that a request has to be allowed (Kafka's table "Operations and Resources on Protocols"), by the method of kafkajs's broker. */
const NEEDED: Readonly<Record<string, Operations>> = {
  metadata: { topic: ['Describe'] },
  listOffsets: { topic: ['Describe'] },
  fetch: { topic: ['Read'] },
  produceBatches: { topic: ['Write'], 'transactional id': ['Write'] },
  describeConfigs: { topic: ['DescribeConfigs'] },
  createTopics: { topic: ['Create'], cluster: ['Create'] },
  createPartitions: { topic: ['Alter'] },
  // A right to more includes Describe: the work that is to follow isn't allowed either.
  findGroupCoordinator: { group: ['Describe', 'Read'], 'transactional id': ['Describe', 'Write'] },
  describeGroups: { group: ['Describe'] },
  offsetFetch: { group: ['Describe'], topic: ['Describe'] },
  offsetCommit: { group: ['Read'], topic: ['Read'] },
  joinGroup: { group: ['Read'] },
  syncGroup: { group: ['Read'] },
  heartbeat: { group: ['Read'] },
  leaveGroup: { group: ['Read'] },
  initProducerId: { 'transactional id': ['Write'] },
  addPartitionsToTxn: { 'transactional id': ['Write'], topic: ['Write'] },
  addOffsetsToTxn: { 'transactional id': ['Write'], group: ['Read'] },
  txnOffsetCommit: { 'transactional id': ['Write'], group: ['Read'], topic: ['Read'] },
  describeTransaction: { 'transactional id': ['Describe'] },
  listedOffsets: { topic: ['Describe'] },
  openTransactions: { topic: ['Read'] },
  pendingOffsets: { group: ['Describe'], topic: ['Describe'] },
  endTxn: { 'transactional id': ['Write'] },
};

/** The parts of a request that name resources: a `metadata` request holds names alone. */
type Request = readonly string[] | RequestFields;

interface RequestFields {
  readonly groupId?: string;
  readonly transactionalId?: string | null;
  readonly groupIds?: readonly string[];
  readonly topics?: readonly { readonly topic: string }[];
  readonly topicPartitions?: readonly { readonly topic: string }[];
  readonly resources?: readonly { readonly name: string }[];
}

type Ask = (request?: Request) => Promise<unknown>;

/**
 * Makes a broker of kafkajs say what its user lacks: its requests throw a `MissingRightError` where as delivered they throw an answer that
 * names neither the operation nor the resource.
 */
export function nameMissingRights(broker: object): void {
  for (const [method, operations] of Object.entries(NEEDED)) {
    const asDelivered: unknown = Reflect.get(broker, method);
    if (typeof asDelivered !== 'function') throw new TypeError(`A broker of kafkajs has no ${method}.`);
    const ask: Ask = async (request) => (await Reflect.apply(asDelivered, broker, [request])) as unknown;
    const asked: Ask = async (request) => {
      try {
        return await ask(request);
      } catch (error) {
        throw (await missingRight({ ask, request: request ?? [], operations, error })) ?? error;
      }
    };
    Reflect.set(broker, method, asked);
  }
}

interface Refused {
  readonly ask: Ask;
  readonly request: Request;
  readonly operations: Operations;
  readonly error: unknown;
}

async function missingRight({ ask, request, operations, error }: Refused): Promise<MissingRightError | undefined> {
  const rights = new Map<string, MissingRight>();
  let refusal: string | undefined;
  for (const each of chain(error)) {
    const kind = REFUSALS[each.type ?? ''];
    if (kind === undefined) continue;
    refusal ??= each.type;
    // For a request with several topics kafkajs reports one refusal without its topic, except when it creates topics.
    const names = each.topic !== undefined && kind === 'topic' ? [each.topic] : await refusedOf(ask, request, kind);
    for (const name of names)
      for (const operation of operations[kind] ?? []) rights.set(`${operation} ${kind} ${name}`, { operation, kind, name });
  }
  if (refusal === undefined) return undefined;
  // kafkajs reads these two properties. It passes on an error's cause in place of the error, so this one has no cause.
  return Object.assign(new MissingRightError([...rights.values()]), { type: refusal, retriable: false });
}

async function refusedOf(ask: Ask, request: Request, kind: ResourceKind): Promise<readonly string[]> {
  const names = namesIn(request, kind);
  // Repeating these two requests changes nothing.
  if (names.length <= 1 || !(isNames(request) || request.resources !== undefined)) return names;
  const refused: string[] = [];
  for (const name of names) {
    await ask(requestFor(request, name)).catch((error: unknown) => {
      if ([...chain(error)].some(({ type }) => REFUSALS[type ?? ''] === kind)) refused.push(name);
    });
  }
  return refused;
}

function namesIn(request: Request, kind: ResourceKind): readonly string[] {
  if (isNames(request)) return request;
  const { groupId = '', groupIds = [groupId], transactionalId, topics, topicPartitions, resources = [] } = request;
  switch (kind) {
    case 'topic':
      return (topics ?? topicPartitions)?.map(({ topic }) => topic) ?? resources.map(({ name }) => name);
    case 'group':
      return groupIds;
    case 'transactional id':
      // Records that are appended outside of lanes have an id that was never there before.
      return [(transactionalId ?? groupId).replace(/^append-.*$/u, 'append-*')];
    case 'cluster':
      return [''];
  }
}

function requestFor(request: Request, name: string): Request {
  if (isNames(request)) return [name];
  const { resources = [] } = request;
  return { ...request, resources: resources.filter((resource) => resource.name === name) };
}

function isNames(request: Request): request is readonly string[] {
  return Array.isArray(request);
}
