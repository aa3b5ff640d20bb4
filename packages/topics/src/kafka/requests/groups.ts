import { refusalsOf, wholeAnswer } from './partition-answers.ts';
import { type Refusal, type Request, idRights, rights } from './request.ts';

/** Numbers of coordinator types in the protocol. */
const COORDINATORS = { group: 0, transaction: 1 };

export interface FindCoordinatorOptions {
  readonly of: 'group' | 'transaction';
  /** Name of the group, or the transactional ID. */
  readonly name: string;
}

export const findCoordinator: Request<FindCoordinatorOptions, { readonly nodeId: number; readonly host: string; readonly port: number }> = {
  api: 'FindCoordinator',
  key: 10,
  version: 1,
  to: 'any',
  // FindCoordinator needs only Describe. The second right is the one that the requests to the coordinator need, so an error names both.
  needs: ({ of, name }) => (of === 'group' ? rights('group', ['Describe', 'Read'], [name]) : idRights(['Describe', 'Write'], name)),
  write: (body, { of, name }) => body.string(name).uint8(COORDINATORS[of]),
  read(from) {
    const { throttleMs, refusals } = wholeAnswer(from);
    // Skip the error message.
    from.string();
    return { throttleMs, refusals, answer: { nodeId: from.int32(), host: from.string(), port: from.int32() } };
  },
};

export interface GroupDescription {
  /** Without those that have left or whose session has timed out. */
  readonly members: readonly DescribedMember[];
}

export interface DescribedMember {
  readonly memberId: string;
  /** Empty during a rebalance, as is the assignment. */
  readonly metadata: Buffer;
  readonly assignment: Buffer;
}

export const describeGroup: Request<{ readonly groupId: string }, GroupDescription> = {
  api: 'DescribeGroups',
  key: 15,
  version: 1,
  to: 'group coordinator',
  needs: ({ groupId }) => rights('group', ['Describe'], [groupId]),
  write: (body, { groupId }) => body.array([groupId], (group) => body.string(group)),
  read(from) {
    const throttleMs = from.int32();
    const refusals: Refusal[] = [];
    const [answer = { members: [] }] = from.array(() => {
      refusals.push(...refusalsOf(from.int16()));
      // Skip the group's name and state, and the type and name of its protocol.
      for (let skipped = 0; skipped < 4; skipped += 1) from.string();
      const members = from.array(() => {
        const memberId = from.string();
        // Skip the client's ID and host.
        from.string();
        from.string();
        return { memberId, metadata: from.bytes(), assignment: from.bytes() };
      });
      return { members };
    });
    return { throttleMs, refusals, answer };
  },
};

interface MemberOptions {
  readonly groupId: string;
  readonly memberId: string;
}

interface GenerationOptions extends MemberOptions {
  readonly generationId: number;
}

export interface JoinGroupOptions extends MemberOptions {
  /** How long a member can be silent before the group removes it, and how long the group waits for its members to join, ms. */
  readonly sessionTimeoutMs: number;
  /** Name of the protocol by which the leader assigns partitions. */
  readonly protocol: string;
  readonly metadata: Buffer;
}

export interface JoinedGroup {
  /** A newcomer's first request only gets an ID, with which it must join again. */
  readonly memberId: string;
  readonly mustJoinAgain: boolean;
  readonly generationId: number;
  readonly leaderId: string;
  /** Empty unless this member is the leader. */
  readonly members: readonly Omit<DescribedMember, 'assignment'>[];
}

const PROTOCOL_TYPE = 'consumer';
const MEMBER_ID_REQUIRED = 79;
/** Allowance for a join on top of the time that the group waits for other members, ms. */
const JOIN_TAKES_MS = 2_000;

export const joinGroup: Request<JoinGroupOptions, JoinedGroup> = {
  api: 'JoinGroup',
  key: 11,
  version: 5,
  to: 'group coordinator',
  needs: ({ groupId }) => rights('group', ['Read'], [groupId]),
  mayWait: () => true,
  answersWithinMs: ({ sessionTimeoutMs }) => sessionTimeoutMs + JOIN_TAKES_MS,
  write: (body, { groupId, memberId, sessionTimeoutMs, protocol, metadata }) =>
    body
      .string(groupId)
      .int32(sessionTimeoutMs)
      .int32(sessionTimeoutMs)
      .string(memberId)
      // No instance, so the group forgets a member that leaves.
      .string(null)
      .string(PROTOCOL_TYPE)
      .array([metadata], (bytes) => body.string(protocol).bytes([bytes])),
  read(from) {
    const throttleMs = from.int32();
    const errorCode = from.int16();
    const mustJoinAgain = errorCode === MEMBER_ID_REQUIRED;
    const generationId = from.int32();
    // Skip the name of the protocol.
    from.string();
    const [leaderId, memberId] = [from.string(), from.string()];
    const members = from.array(() => {
      const each = from.string();
      // Skip the instance.
      from.string();
      return { memberId: each, metadata: from.bytes() };
    });
    const answer = { memberId, mustJoinAgain, generationId, leaderId, members };
    return { throttleMs, refusals: mustJoinAgain ? [] : refusalsOf(errorCode), answer };
  },
};

export interface SyncGroupOptions extends GenerationOptions {
  readonly sessionTimeoutMs: number;
  /** The assignments of all members, from their leader alone. */
  readonly assignments: readonly Omit<DescribedMember, 'metadata'>[];
}

/** Resolves to this member's assignment. */
export const syncGroup: Request<SyncGroupOptions, Buffer> = {
  api: 'SyncGroup',
  key: 14,
  version: 3,
  to: 'group coordinator',
  needs: ({ groupId }) => rights('group', ['Read'], [groupId]),
  mayWait: () => true,
  answersWithinMs: ({ sessionTimeoutMs }) => sessionTimeoutMs + JOIN_TAKES_MS,
  write: (body, { groupId, generationId, memberId, assignments }) =>
    body
      .string(groupId)
      .int32(generationId)
      .string(memberId)
      .string(null)
      .array(assignments, (each) => body.string(each.memberId).bytes([each.assignment])),
  read: (from) => ({ ...wholeAnswer(from), answer: from.bytes() }),
};

export const heartbeat: Request<GenerationOptions, void> = {
  api: 'Heartbeat',
  key: 12,
  version: 1,
  to: 'group coordinator',
  needs: ({ groupId }) => rights('group', ['Read'], [groupId]),
  write: (body, { groupId, generationId, memberId }) => body.string(groupId).int32(generationId).string(memberId),
  read: wholeAnswer,
};

export const leaveGroup: Request<MemberOptions, void> = {
  api: 'LeaveGroup',
  key: 13,
  version: 1,
  to: 'group coordinator',
  needs: ({ groupId }) => rights('group', ['Read'], [groupId]),
  write: (body, { groupId, memberId }) => body.string(groupId).string(memberId),
  read: wholeAnswer,
};
