import type { MissingRight } from '../../missing-right-error.ts';
import { refusalsOf, wholeAnswer } from './partition-answers.ts';
import { type Refusal, type Request, idRights, rights } from './request.ts';

interface Coordinated {
  /** Number of the coordinator type in the protocol. */
  readonly number: number;
  /** FindCoordinator needs only Describe. The second right is the one that the requests to the coordinator need, so an error names both. */
  needs(name: string): readonly MissingRight[];
}

const COORDINATED: Readonly<Record<'group' | 'transaction', Coordinated>> = {
  group: { number: 0, needs: (name) => rights('group', ['Describe', 'Read'], [name]) },
  transaction: { number: 1, needs: (name) => idRights(['Describe', 'Write'], name) },
};

export interface FindCoordinatorOptions {
  readonly of: 'group' | 'transaction';
  /** Name of the group, or the transactional ID. */
  readonly name: string;
}

export const findCoordinator: Request<FindCoordinatorOptions, { readonly nodeId: number; readonly host: string; readonly port: number }> = {
  api: 'FindCoordinator',
  key: 10,
  versions: [1, 2],
  to: 'any',
  needs: ({ of, name }) => COORDINATED[of].needs(name),
  write: (body, { of, name }) => body.string(name).uint8(COORDINATED[of].number),
  read(from) {
    const { throttleMs, refusals } = wholeAnswer(from);
    // Skip the error message.
    from.string();
    return { throttleMs, refusals, answer: { nodeId: from.int32(), host: from.string(), port: from.int32() } };
  },
};

/** Reads the IDs of the group's members, without those that have left or whose session has timed out. */
export const describeGroup: Request<{ readonly groupId: string }, ReadonlySet<string>> = {
  api: 'DescribeGroups',
  key: 15,
  versions: [1, 2],
  to: 'group coordinator',
  needs: ({ groupId }) => rights('group', ['Describe'], [groupId]),
  write: (body, { groupId }) => body.array([groupId], (group) => body.string(group)),
  read(from) {
    const throttleMs = from.int32();
    const refusals: Refusal[] = [];
    const members = from.array(() => {
      refusals.push(...refusalsOf(from.int16()));
      // Skip the group's name and state, and the type and name of its protocol.
      for (let left = 4; left > 0; left -= 1) from.string();
      return from.array(() => {
        const memberId = from.string();
        // Skip the client's ID and host, and the member's metadata and assignment.
        from.string();
        from.string();
        from.bytes();
        from.bytes();
        return memberId;
      });
    });
    return { throttleMs, refusals, answer: new Set(members.flat()) };
  },
};

interface MemberOptions {
  readonly groupId: string;
  readonly memberId: string;
}

export const heartbeat: Request<MemberOptions, void> = {
  api: 'Heartbeat',
  key: 12,
  versions: [1, 2],
  to: 'group coordinator',
  needs: ({ groupId }) => rights('group', ['Read'], [groupId]),
  write: (body, { groupId, memberId }) => body.string(groupId).int32(0).string(memberId),
  read: wholeAnswer,
};

export const leaveGroup: Request<MemberOptions, void> = {
  api: 'LeaveGroup',
  key: 13,
  versions: [1, 2],
  to: 'group coordinator',
  needs: ({ groupId }) => rights('group', ['Read'], [groupId]),
  write: (body, { groupId, memberId }) => body.string(groupId).string(memberId),
  read: wholeAnswer,
};
