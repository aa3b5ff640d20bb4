import * as fc from 'fast-check';
import { AssignerProtocol } from 'kafkajs';
import { expect, it } from 'vitest';
import { decodeMetadata, encodeMetadata, hasPartitions } from './member-metadata.ts';

it("members read each other's metadata", () => {
  const owned = fc.array(fc.record({ topic: fc.string(), partition: fc.nat() }));
  fc.assert(
    fc.property(owned, fc.string({ unit: 'binary' }), (owned, agreement) => {
      expect(decodeMetadata(encodeMetadata(['requests'], { owned, agreement }))).toEqual({ owned, agreement });
    }),
  );
});

it('metadata of other clients is ignored', () => {
  const texts = ['', '{}', 'null', '[', '{"owned":{},"agreement":"a"}', '{"owned":[],"agreement":1}', '{"owned":[["t"]],"agreement":"a"}'];
  const metadata = texts.map((text) => AssignerProtocol.MemberMetadata.encode({ version: 0, topics: [], userData: Buffer.from(text) }));
  for (const one of [...metadata, Buffer.alloc(0), Buffer.from('not of this protocol')]) expect(decodeMetadata(one)).toBeUndefined();
});

it('an assignment is told from its absence', () => {
  const assignment = (topics: Record<string, number[]>): Buffer =>
    AssignerProtocol.MemberAssignment.encode({ version: 0, assignment: topics, userData: Buffer.alloc(0) });
  expect(hasPartitions(assignment({ a: [0] }))).toBe(true);
  expect([assignment({}), assignment({ a: [] }), Buffer.alloc(0)].map(hasPartitions)).toEqual([false, false, false]);
});
