import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TopicPartition } from '../../topic-log.ts';
import { partitionKey } from '../../topic-partition.ts';
import { type Owner, assignPartitions } from './assign-partitions.ts';

const of = (topic: string, ...partitions: readonly number[]): TopicPartition[] => partitions.map((partition) => ({ topic, partition }));
const shares = (assigned: ReadonlyMap<string, readonly TopicPartition[]>): string[] =>
  [...assigned].map(([memberId, list]) => `${memberId}: ${list.map(partitionKey).join(' ')}`);

describe('a group', () => {
  it('gives its only member all partitions', () => {
    expect(shares(assignPartitions(of('a', 0, 1), [{ memberId: 'm1', owned: [] }]))).toEqual(['m1: a-0 a-1']);
  });

  it('takes partitions for a newcomer from members that have more than their share', () => {
    const members = [
      { memberId: 'old', owned: of('a', 0, 1, 2, 3) },
      { memberId: 'new', owned: [] },
    ];
    expect(shares(assignPartitions(of('a', 0, 1, 2, 3), members))).toEqual(['new: a-2 a-3', 'old: a-0 a-1']);
  });

  it('counts all topics together', () => {
    const members = ['m1', 'm2'].map((memberId) => ({ memberId, owned: [] }));
    const partitions = [...of('b', 0), ...of('a', 0)];
    expect(shares(assignPartitions(partitions, members))).toEqual(['m1: a-0', 'm2: b-0']);
  });
});

const partitionsIn = fc.uniqueArray(fc.record({ topic: fc.constantFrom('a', 'b', 'c'), partition: fc.nat(11) }), {
  selector: partitionKey,
  maxLength: 24,
});
const claimsIn = fc.array(fc.record({ topic: fc.constantFrom('a', 'b', 'x'), partition: fc.nat(13) }), { maxLength: 12 });
const membersIn = fc.uniqueArray(fc.record({ memberId: fc.string({ minLength: 1, maxLength: 3 }), owned: claimsIn }), {
  selector: ({ memberId }) => memberId,
  minLength: 1,
  maxLength: 7,
});

/** Partitions and members of a healthy group, in which no partition has two owners. */
const healthyIn = fc
  .tuple(partitionsIn, fc.array(fc.nat(7), { minLength: 24, maxLength: 24 }), fc.integer({ min: 1, max: 7 }))
  .map(([partitions, owners, size]) => ({
    partitions,
    members: Array.from({ length: size }, (_, index) => ({
      memberId: `m${index}`,
      owned: partitions.filter((_partition, at) => owners[at] === index),
    })),
  }));

describe('whatever partitions are claimed', () => {
  it('each partition has one member, and no member more than a share', () => {
    fc.assert(
      fc.property(partitionsIn, membersIn, (partitions, members) => {
        const assigned = assignPartitions(partitions, members);
        expect([...assigned.values()].flat().map(partitionKey).sort()).toEqual(partitions.map(partitionKey).sort());
        for (const list of assigned.values()) expect(list.length).toBeLessThanOrEqual(Math.ceil(partitions.length / members.length));
      }),
    );
  });

  it('the order of members, owned partitions and partitions doesn’t matter', () => {
    fc.assert(
      fc.property(partitionsIn, membersIn, (partitions, members) => {
        const turned = members.map(({ memberId, owned }) => ({ memberId, owned: owned.toReversed() })).toReversed();
        expect(shares(assignPartitions(partitions.toReversed(), turned))).toEqual(shares(assignPartitions(partitions, members)));
      }),
    );
  });

  it('every member keeps what it has, up to its share', () => {
    fc.assert(
      fc.property(healthyIn, ({ partitions, members }) => {
        const assigned = assignPartitions(partitions, members);
        const share = Math.ceil(partitions.length / members.length);
        for (const { memberId, owned } of members) {
          expect(common(owned, assigned.get(memberId) ?? [])).toBe(Math.min(share, owned.length));
        }
      }),
    );
  });

  it('a join without a change moves nothing', () => {
    fc.assert(
      fc.property(partitionsIn, membersIn, (partitions, members) => {
        const assigned = assignPartitions(partitions, members);
        const again: Owner[] = members.map(({ memberId }) => ({ memberId, owned: assigned.get(memberId) ?? [] }));
        expect(shares(assignPartitions(partitions, again))).toEqual(shares(assigned));
      }),
    );
  });

  it('a remaining member keeps all its partitions when another leaves', () => {
    fc.assert(
      fc.property(partitionsIn, membersIn, (partitions, members) => {
        const assigned = assignPartitions(partitions, members);
        const stay = members.slice(1).map(({ memberId }) => ({ memberId, owned: assigned.get(memberId) ?? [] }));
        fc.pre(stay.length > 0);
        const after = assignPartitions(partitions, stay);
        for (const { memberId, owned } of stay) expect(common(owned, after.get(memberId) ?? [])).toBe(owned.length);
      }),
    );
  });
});

function common(some: readonly TopicPartition[], others: readonly TopicPartition[]): number {
  const keys = new Set(others.map(partitionKey));
  return some.filter((partition) => keys.has(partitionKey(partition))).length;
}
