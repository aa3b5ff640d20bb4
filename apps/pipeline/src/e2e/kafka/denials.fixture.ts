import { setTimeout as sleep } from 'node:timers/promises';
import type { KafkaBrokerOptions } from '@headgate/broker';
import { type PlainAcl, plainKafka } from './kafkajs.fixture.ts';

const USER = 'headgate';
const PASSWORD = 'pw-6Rt9-never-shown';
const KINDS = { topic: 2, group: 3, 'transactional id': 5 } as const;
const OPERATIONS = { All: 2, Read: 3, Write: 4, Create: 5, Describe: 8, DescribeConfigs: 10 } as const;
const POLL_MS = 20;

/** Options of a broker with the listener USERS, on which clients sign in as `USER`. */
export const DENYING_BROKER: KafkaBrokerOptions = {
  listeners: { USERS: 'SASL_PLAINTEXT' },
  settings: {
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': 'User:ANONYMOUS',
    'listener.name.users.sasl.enabled.mechanisms': 'PLAIN',
    'listener.name.users.plain.sasl.jaas.config': `org.apache.kafka.common.security.plain.PlainLoginModule required user_${USER}="${PASSWORD}";`,
  },
};

/** The setting of the topics section that signs in as `USER`. */
export const AS_USER = `, sasl: { mechanism: plain, username: ${USER}, password: ${PASSWORD} }`;

export interface Denial {
  readonly operation: keyof typeof OPERATIONS;
  readonly kind: keyof typeof KINDS;
  /** Name of the resource. A name that ends with `*` covers all names with that beginning. */
  readonly name: string;
}

export interface Denials extends AsyncDisposable {
  deny(...denials: readonly Denial[]): Promise<void>;
  allow(...denials: readonly Denial[]): Promise<void>;
}

/** Denies and allows operations. `brokers`: addresses of the listener without restrictions. */
export async function denials(brokers: readonly string[]): Promise<Denials> {
  const admin = plainKafka(brokers).admin();
  await admin.connect();
  const all = Object.values(KINDS).map((resourceType) => ({ ...ALL, resourceType }));
  await admin.createAcls({ acl: all });
  return {
    async deny(...all) {
      await admin.createAcls({ acl: all.map(acl) });
      // A broker learns of ACLs a moment later and in their order, so the last one is enough to wait for.
      for (const last of all.slice(-1)) while ((await admin.describeAcls(acl(last))).resources.length === 0) await sleep(POLL_MS);
    },
    async allow(...all) {
      await admin.deleteAcls({ filters: all.map(acl) });
      for (const last of all.slice(-1)) while ((await admin.describeAcls(acl(last))).resources.length > 0) await sleep(POLL_MS);
    },
    [Symbol.asyncDispose]: () => admin.disconnect(),
  };
}

/** The right to all operations on all resources of a kind. */
const ALL = {
  resourceName: '*',
  resourcePatternType: 3,
  principal: `User:${USER}`,
  host: '*',
  operation: OPERATIONS.All,
  permissionType: 3,
};

function acl({ operation, kind, name }: Denial): PlainAcl {
  const isPrefix = name.endsWith('*');
  return {
    resourceType: KINDS[kind],
    resourceName: isPrefix ? name.slice(0, -1) : name,
    resourcePatternType: isPrefix ? 4 : 3,
    principal: `User:${USER}`,
    host: '*',
    operation: OPERATIONS[operation],
    permissionType: 2,
  };
}
