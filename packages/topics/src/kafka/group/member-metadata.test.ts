import * as fc from 'fast-check';
import { AssignerProtocol } from 'kafkajs';
import { expect, it } from 'vitest';
import { decodeAssignment, decodeMetadata, encodeAssignment, encodeMetadata } from './member-metadata.ts';

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

it('metadata and assignments have the bytes of kafkajs, whose tools show them', () => {
  const own = [
    { topic: 'a', partition: 0 },
    { topic: 'a', partition: 7 },
    { topic: 'b', partition: 1 },
  ];
  const userData = Buffer.from(JSON.stringify({ owned: [['a', 0]], agreement: 'same' }));
  expect(encodeMetadata(['a', 'b'], { owned: own.slice(0, 1), agreement: 'same' })).toEqual(
    AssignerProtocol.MemberMetadata.encode({ version: 0, topics: ['a', 'b'], userData }),
  );
  const terms = Buffer.from('same');
  const assignment = AssignerProtocol.MemberAssignment.encode({ version: 0, assignment: { a: [0, 7], b: [1] }, userData: terms });
  expect(encodeAssignment({ partitions: own, agreement: 'same' })).toEqual(assignment);
  expect(decodeAssignment(assignment)).toEqual({ partitions: own, agreement: 'same' });
  expect(decodeAssignment(encodeAssignment({ partitions: [], agreement: 'same' }))).toEqual({ partitions: [], agreement: 'same' });
  for (const other of [Buffer.alloc(0), Buffer.from('not of this protocol')])
    expect(decodeAssignment(other)).toEqual({ partitions: [], agreement: '' });
});
