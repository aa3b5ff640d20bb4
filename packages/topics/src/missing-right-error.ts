import { TopicLogError } from './topic-log-error.ts';

/** The kind of a resource on which brokers grant rights. */
export type ResourceKind = 'topic' | 'group' | 'transactional id' | 'cluster';

/** An operation that the log's user may not perform on a resource, in Kafka's terms. */
export interface MissingRight {
  /** `Describe`, `Read`, `Write`, … */
  readonly operation: string;
  /** The kind of resource that `name` names. */
  readonly kind: ResourceKind;
  /** The topic, group or transactional ID; empty for the cluster. */
  readonly name: string;
}

/** The brokers know the log's user, but this user lacks rights. After they are granted, the same call succeeds, without reopening the log. */
export class MissingRightError extends TopicLogError {
  /** Stays the same if a bundler renames classes. */
  override readonly name = 'MissingRightError';
  /** The missing rights, sorted by resource. */
  readonly rights: readonly MissingRight[];

  constructor(rights: readonly MissingRight[], options?: ErrorOptions) {
    const sorted = rights.toSorted((a, b) => Number(resourceOf(a) > resourceOf(b)) - Number(resourceOf(a) < resourceOf(b)));
    const orMade = rights.every(({ operation, kind }) => operation === 'Create' && kind === 'topic') ? ', or create them yourself' : '';
    super(
      {
        code: 'HEADGATE_MISSING_RIGHT',
        message: `This user lacks ${rightsWords(sorted).join('; ')}. Grant it on the brokers (kafka-acls.sh --add)${orMade}.`,
      },
      options,
    );
    this.rights = sorted;
  }
}

function resourceOf({ kind, name }: MissingRight): string {
  return `${kind} ${name}`;
}

/** Describes rights in one text per kind and set of operations: `Describe and Write on transactional id orders.0`, `Read on topics a, b`. */
export function rightsWords(rights: readonly MissingRight[]): readonly string[] {
  const resources = [...Map.groupBy(rights, resourceOf).values()].map((same) => {
    const [{ kind, name } = { kind: 'cluster' as const, name: '' }] = same;
    return { kind, name, operations: [...new Set(same.map(({ operation }) => operation))].join(', ') };
  });
  return [...Map.groupBy(resources, ({ kind, operations }) => `${operations} on ${kind}`).values()].map((alike) => {
    const [{ kind, operations } = { kind: 'cluster' as const, operations: '' }] = alike;
    const allowed = operations.replace(/, (\w+)$/u, ' and $1');
    const names = alike.map(({ name }) => name).join(', ');
    return kind === 'cluster' ? `${allowed} on the cluster` : `${allowed} on ${kind}${alike.length === 1 ? '' : 's'} ${names}`;
  });
}
