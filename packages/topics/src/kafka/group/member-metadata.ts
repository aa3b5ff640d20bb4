import type { TopicPartition } from '../../topic-log.ts';
import { AssignerProtocol } from '../client/kafkajs-internals.ts';

export interface MemberMetadata {
  readonly owned: readonly TopicPartition[];
  /** Members can work together only if their agreements are equal. */
  readonly agreement: string;
}

/** The version of Kafka's consumer protocol that kafkajs writes. */
export const PROTOCOL_VERSION = 0;

export function encodeMetadata(topics: readonly string[], terms: MemberMetadata): Buffer {
  const owned = terms.owned.map(({ topic, partition }) => [topic, partition]);
  const userData = Buffer.from(JSON.stringify({ owned, agreement: terms.agreement }));
  return AssignerProtocol.MemberMetadata.encode({ version: PROTOCOL_VERSION, topics: [...topics], userData });
}

/** Decodes a member's metadata. Undefined if another program wrote it, or if it is empty, as in a rebalancing group. */
export function decodeMetadata(metadata: Buffer): MemberMetadata | undefined {
  try {
    const decoded = AssignerProtocol.MemberMetadata.decode(metadata);
    const userData: unknown = JSON.parse(String(decoded?.userData ?? ''));
    return isUserData(userData)
      ? { owned: userData.owned.map(([topic, partition]) => ({ topic, partition })), agreement: userData.agreement }
      : undefined;
  } catch {
    return undefined;
  }
}

export function hasPartitions(assignment: Buffer): boolean {
  try {
    const decoded = AssignerProtocol.MemberAssignment.decode(assignment);
    return Object.values(decoded?.assignment ?? {}).some((partitions) => partitions.length > 0);
  } catch {
    return false;
  }
}

function isUserData(value: unknown): value is { readonly owned: readonly (readonly [string, number])[]; readonly agreement: string } {
  if (typeof value !== 'object' || value === null || !('owned' in value) || !('agreement' in value)) return false;
  return typeof value.agreement === 'string' && Array.isArray(value.owned) && value.owned.every(isPartition);
}

function isPartition(value: unknown): boolean {
  return Array.isArray(value) && typeof value[0] === 'string' && Number.isInteger(value[1]);
}
