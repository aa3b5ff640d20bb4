import type { Kafka } from 'kafkajs';
import type { TopicPartition } from '../../topic-log.ts';

export interface GroupMembershipOptions {
  readonly kafka: Pick<Kafka, 'consumer'>;
  readonly group: string;
  /** The topics whose partitions the members share; they exist. */
  readonly topics: readonly string[];
  /** Members whose agreement differs can't work side by side, e.g. a hash of lanes and credentials. */
  readonly agreement: string;
  /** How long a member may be silent before the others get its partitions. Default 6000. */
  readonly sessionTimeoutMs?: number;
  /**
   * Called with all partitions of this member after every join, also when they are the same, and when the broker counts the member again
   * after a silence. Must not throw.
   */
  readonly onAssigned: (partitions: readonly TopicPartition[]) => void;
  /** Called when the session can't be alive any more: the partitions may be others' by now, or nobody can reach the brokers. */
  readonly onUncertain: () => void;
  /** Whether a fault is waited out. Default: where it may pass by itself. */
  readonly waitsOut?: (error: Error) => boolean;
  /** Called when the group could not be asked, or refused, or its connection was lost; it is asked again. */
  readonly onFault?: (error: Error) => void;
  /** Called when the group has answered a request to join, though the others may still have to, and when this process has joined. */
  readonly onAnswer?: () => void;
  /** Called once, when the membership has ended for good, e.g. with a `TopicLogError` (HEADGATE_GROUP_DISAGREEMENT); `onAssigned` was called with none before. */
  readonly onFailed: (error: Error) => void;
}

export interface GroupMembership {
  /**
   * Resolves after the first assignment, which may be empty. Rejects with a `TopicLogError` (HEADGATE_GROUP_DISAGREEMENT) when the group is worked under another
   * agreement (if those members have just died, it waits until the group has noticed), and when it is left before.
   */
  readonly joined: Promise<void>;
  /** This member's id, or undefined while it is none. A consumer that had to be made anew has another. */
  readonly memberId: string | undefined;
  /** Leaves the group, so that the others get the partitions at once. Takes a session at most; nothing is called after it was called. */
  leave(): Promise<void>;
}
