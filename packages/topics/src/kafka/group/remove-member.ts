import type { Kafka, PartitionAssigner } from '../client/kafkajs-internals.ts';

type AssignerCluster = Parameters<PartitionAssigner>[0]['cluster'];

/** kafkajs 2.2.4 sends this request, though its types don't name it. */
interface LeavingBroker {
  leaveGroup(options: { readonly groupId: string; readonly memberId: string }): Promise<unknown>;
}

/**
 * Takes a dead member out of the group, so that a join need not wait for its session to end. For a former member of this very process, whose
 * consumer crashed. Has a connection of its own: a broker answers nothing else on one where a join waits. Answers whether the member is gone.
 */
export async function removeMember(options: {
  readonly kafka: Pick<Kafka, 'consumer'>;
  readonly group: string;
  readonly memberId: string;
}): Promise<boolean> {
  const clusters: AssignerCluster[] = [];
  const consumer = options.kafka.consumer({
    groupId: options.group,
    allowAutoTopicCreation: false,
    partitionAssigners: [
      ({ cluster }) => {
        clusters.push(cluster);
        return { name: 'none', version: 0, assign: async () => [], protocol: () => ({ name: 'none', metadata: Buffer.alloc(0) }) };
      },
    ],
  });
  try {
    await consumer.connect();
    const coordinator: object | undefined = await clusters[0]?.findGroupCoordinator({ groupId: options.group });
    if (coordinator === undefined || !canLeave(coordinator)) return false;
    await coordinator.leaveGroup({ groupId: options.group, memberId: options.memberId });
    return true;
  } catch (error) {
    return error instanceof Error && 'type' in error && error.type === 'UNKNOWN_MEMBER_ID';
  } finally {
    await consumer.disconnect().catch(() => undefined);
  }
}

function canLeave(broker: object): broker is LeavingBroker {
  return 'leaveGroup' in broker && typeof broker.leaveGroup === 'function';
}
