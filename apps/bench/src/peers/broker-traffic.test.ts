import fc from 'fast-check';
import { expect, test } from 'vitest';
import { requestHeads } from './broker-traffic.ts';

const requests = fc.array(
  fc.record({ clientId: fc.string({ maxLength: 20 }), bodyBytes: fc.nat(40) }).map((request) => {
    const clientId = Buffer.from(request.clientId);
    const frame = Buffer.alloc(14 + clientId.length + request.bodyBytes);
    frame.writeInt32BE(frame.length - 4, 0);
    frame.writeInt16BE(clientId.length, 12);
    clientId.copy(frame, 14);
    return { clientId: clientId.toString(), frame };
  }),
);

test('tells of each request, wherever the stream is cut', () => {
  fc.assert(
    fc.property(requests, fc.array(fc.integer({ min: 1, max: 30 })), (sent, cuts) => {
      const seen: unknown[] = [];
      const onPiece = requestHeads((clientId) => seen.push(clientId));
      let rest = Buffer.concat(sent.map(({ frame }) => frame));
      for (const cut of cuts) {
        onPiece(rest.subarray(0, cut));
        rest = rest.subarray(cut);
      }
      onPiece(rest);
      expect(seen).toEqual(sent.map(({ clientId }) => clientId));
    }),
  );
});
