import fc from 'fast-check';
import { expect, it } from 'vitest';
import { displayWidth } from './cells.ts';
import { wrappedLine } from './wrapped-line.ts';

it('a line breaks between words, and continues indented to its column', () => {
  expect(wrappedLine('To go on:   run the same command again: it goes on with @alpha', 40)).toEqual([
    'To go on:   run the same command again:',
    '            it goes on with @alpha',
  ]);
  expect(wrappedLine('  9:1  warning: others can read it. Keep it for its owner', 34)).toEqual([
    '  9:1  warning: others can read',
    '       it. Keep it for its owner',
  ]);
  expect(wrappedLine('Stopped after 9 s: 6 pages, 30,000 ids', 25)).toEqual(['Stopped after 9 s: 6', '  pages, 30,000 ids']);
  expect(wrappedLine('log /a/folder/with/a/long/name.db can be read', 20)).toEqual([
    'log',
    '  /a/folder/with/a/long/name.db',
    '  can be read',
  ]);
});

it('no word is lost, and no line is too wide if its words fit', () => {
  const words = fc.array(fc.string({ unit: fc.constantFrom('a', '書', '·'), minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(words, fc.integer({ min: 24, max: 100 }), (all, width) => {
      const pieces = wrappedLine(all.join(' '), width);
      expect(pieces.flatMap((piece) => piece.trim().split(' '))).toEqual(all);
      for (const piece of pieces) expect(displayWidth(piece)).toBeLessThanOrEqual(width);
    }),
  );
});
