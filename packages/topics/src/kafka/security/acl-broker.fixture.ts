import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs, { type Admin } from 'kafkajs';
import type { KafkaSaslOptions } from '../security/authentication.ts';
import { plainKafka } from '../faults/committed-records.fixture.ts';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;
const POLL_MS = 20;
const TYPES = { topic: AclResourceTypes.TOPIC, group: AclResourceTypes.GROUP, id: AclResourceTypes.TRANSACTIONAL_ID } as const;
const OPERATIONS = {
  Read: AclOperationTypes.READ,
  Write: AclOperationTypes.WRITE,
  Create: AclOperationTypes.CREATE,
  Alter: AclOperationTypes.ALTER,
  Describe: AclOperationTypes.DESCRIBE,
  DescribeConfigs: AclOperationTypes.DESCRIBE_CONFIGS,
} as const;

export type Operation = keyof typeof OPERATIONS;

/** Operations on one resource. A `name` that ends with `*` means all resources whose names begin with the text before the `*`. */
export interface Rights {
  readonly on: keyof typeof TYPES;
  readonly name: string;
  readonly operations: readonly Operation[];
}

/** A broker that allows users only the operations that `give` grants and `take` revokes. `admin` may do everything. */
export interface AclBroker extends AsyncDisposable {
  /** Addresses at which users sign in. */
  readonly brokers: readonly string[];
  /** Addresses at which every connection may do everything. */
  readonly own: readonly string[];
  readonly admin: Admin;
  sasl(user: string): KafkaSaslOptions;
  give(user: string, rights: readonly Rights[]): Promise<void>;
  take(user: string, rights: readonly Rights[]): Promise<void>;
}

interface SecuredBrokerOptions {
  readonly listeners: Readonly<Record<string, 'SASL_PLAINTEXT'>>;
  readonly settings: Readonly<Record<string, string>>;
}

interface RunningBroker extends AsyncDisposable {
  readonly brokers: readonly string[];
  readonly nodes: readonly { readonly addresses: Readonly<Record<string, string>> }[];
}

export interface AclBrokerOptions {
  readonly start: (options: SecuredBrokerOptions) => Promise<RunningBroker>;
  readonly users: readonly string[];
}

export async function startAclBroker({ start, users }: AclBrokerOptions): Promise<AclBroker> {
  const known = users.map((user) => `user_${user}="${passwordOf(user)}"`).join(' ');
  await using started = new AsyncDisposableStack();
  const broker = started.use(
    await start({
      listeners: { USERS: 'SASL_PLAINTEXT' },
      settings: {
        'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
        'super.users': 'User:ANONYMOUS',
        'listener.name.users.sasl.enabled.mechanisms': 'PLAIN',
        'listener.name.users.plain.sasl.jaas.config': `org.apache.kafka.common.security.plain.PlainLoginModule required ${known};`,
      },
    }),
  );
  const admin = plainKafka(broker.brokers).admin();
  await admin.connect();
  started.defer(() => admin.disconnect());
  const all = started.move();
  return {
    brokers: broker.nodes.map(({ addresses }) => addresses['USERS'] ?? ''),
    own: broker.brokers,
    admin,
    sasl: (user) => ({ mechanism: 'plain', username: user, password: passwordOf(user) }),
    async give(user, rights) {
      const acl = rights.flatMap((right) => acls(user, right));
      await admin.createAcls({ acl });
      // The broker applies the new rights a moment later, in order. When it lists the last one, it has applied all of them.
      for (const last of acl.slice(-1)) await until(async () => (await admin.describeAcls(last)).resources.length > 0);
    },
    async take(user, rights) {
      const filters = rights.flatMap((right) => acls(user, right));
      await admin.deleteAcls({ filters });
      for (const last of filters.slice(-1)) await until(async () => (await admin.describeAcls(last)).resources.length === 0);
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function acls(user: string, { on, name, operations }: Rights) {
  const isPrefix = name.endsWith('*');
  return operations.map((operation) => ({
    resourceType: TYPES[on],
    resourceName: isPrefix ? name.slice(0, -1) : name,
    resourcePatternType: isPrefix ? ResourcePatternTypes.PREFIXED : ResourcePatternTypes.LITERAL,
    principal: `User:${user}`,
    host: '*',
    operation: OPERATIONS[operation],
    permissionType: AclPermissionTypes.ALLOW,
  }));
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(POLL_MS);
}

function passwordOf(user: string): string {
  return `${user}-never-shown`;
}
