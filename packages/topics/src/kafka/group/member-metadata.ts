import type { TopicPartition } from '../../topic-log.ts';
import { AnswerReader } from '../wire/answer-reader.ts';
import { RequestWriter } from '../wire/request-writer.ts';

export interface MemberMetadata {
  readonly owned: readonly TopicPartition[];
  /** Members can work together only if their agreements are equal. */
  readonly agreement: string;
}

/** The version of Kafka's consumer protocol ("ConsumerProtocolSubscription" and "ConsumerProtocolAssignment"). */
const PROTOCOL_VERSION = 0;

export function encodeMetadata(topics: readonly string[], terms: MemberMetadata): Buffer {
  const owned = terms.owned.map(({ topic, partition }) => [topic, partition]);
  const userData = Buffer.from(JSON.stringify({ owned, agreement: terms.agreement }));
  const body = new RequestWriter(false).int16(PROTOCOL_VERSION);
  return bytesOf(body.array(topics, (topic) => body.string(topic)).bytes([userData]));
}

/** Decodes a member's metadata. Undefined if another program wrote it, or if it is empty, as in a rebalancing group. */
export function decodeMetadata(metadata: Buffer): MemberMetadata | undefined {
  try {
    const from = new AnswerReader(metadata, false);
    from.int16();
    from.array(() => from.string());
    const userData: unknown = JSON.parse(String(from.bytes()));
    return isUserData(userData)
      ? { owned: userData.owned.map(([topic, partition]) => ({ topic, partition })), agreement: userData.agreement }
      : undefined;
  } catch {
    return undefined;
  }
}

export interface MemberAssignment {
  readonly partitions: readonly TopicPartition[];
  /** The agreement of the leader, which gives no partitions to members with another one. */
  readonly agreement: string;
}

export function encodeAssignment({ partitions, agreement }: MemberAssignment): Buffer {
  const body = new RequestWriter(false).int16(PROTOCOL_VERSION);
  const byTopic = [...Map.groupBy(partitions, ({ topic }) => topic)];
  return bytesOf(
    body
      .array(byTopic, ([topic, own]) => body.string(topic).array(own, ({ partition }) => body.int32(partition)))
      .bytes([Buffer.from(agreement)]),
  );
}

/** Decodes a member's assignment. Without partitions if another program wrote it, or if it is empty, as in a rebalancing group. */
export function decodeAssignment(assignment: Buffer): MemberAssignment {
  try {
    const from = new AnswerReader(assignment, false);
    from.int16();
    const partitions = from.array(() => {
      const topic = from.string();
      return from.array(() => ({ topic, partition: from.int32() }));
    });
    return { partitions: partitions.flat(), agreement: String(from.bytes()) };
  } catch {
    return { partitions: [], agreement: '' };
  }
}

function bytesOf(body: RequestWriter): Buffer {
  return Buffer.concat([...body.pieces]);
}

function isUserData(value: unknown): value is { readonly owned: readonly (readonly [string, number])[]; readonly agreement: string } {
  if (typeof value !== 'object' || value === null || !('owned' in value) || !('agreement' in value)) return false;
  return typeof value.agreement === 'string' && Array.isArray(value.owned) && value.owned.every(isPartition);
}

function isPartition(value: unknown): boolean {
  return Array.isArray(value) && typeof value[0] === 'string' && Number.isInteger(value[1]);
}
