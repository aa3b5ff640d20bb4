import * as fc from 'fast-check';
import { AssignerProtocol } from 'kafkajs';
import { expect, it } from 'vitest';
import { decodeTerms, encodeTerms, hasPartitions } from './member-metadata.ts';

it('what a member says is read by the others', () => {
  const claims = fc.array(fc.record({ topic: fc.string(), partition: fc.nat() }));
  fc.assert(
    fc.property(claims, fc.string({ unit: 'binary' }), (claims, agreement) => {
      expect(decodeTerms(encodeTerms(['requests'], { claims, agreement }))).toEqual({ claims, agreement });
    }),
  );
});

it('what others put there is nothing to us', () => {
  const texts = [
    '',
    '{}',
    'null',
    '[',
    '{"claims":{},"agreement":"a"}',
    '{"claims":[],"agreement":1}',
    '{"claims":[["t"]],"agreement":"a"}',
  ];
  const metadata = texts.map((text) => AssignerProtocol.MemberMetadata.encode({ version: 0, topics: [], userData: Buffer.from(text) }));
  for (const one of [...metadata, Buffer.alloc(0), Buffer.from('not of this protocol')]) expect(decodeTerms(one)).toBeUndefined();
});

it('knows an assignment from none', () => {
  const assignment = (topics: Record<string, number[]>): Buffer =>
    AssignerProtocol.MemberAssignment.encode({ version: 0, assignment: topics, userData: Buffer.alloc(0) });
  expect(hasPartitions(assignment({ a: [0] }))).toBe(true);
  expect([assignment({}), assignment({ a: [] }), Buffer.alloc(0)].map(hasPartitions)).toEqual([false, false, false]);
});
