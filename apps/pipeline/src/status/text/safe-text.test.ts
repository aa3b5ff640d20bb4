import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { displayWidth, fitWidth, padWidth } from './cells.ts';
import { safeText } from './safe-text.ts';

describe('safeText', () => {
  it('keeps ordinary text', () => {
    expect(safeText('Zoë Ågren & 日本語 👩‍👩‍👧')).toBe('Zoë Ågren & 日本語 👩‍👩‍👧');
  });

  it('removes escape sequences', () => {
    expect(safeText('a\u001B[2J\u001B[31mb\u001B]0;title\u0007c')).toBe('abc');
  });

  it('returns one line', () => {
    expect(safeText('one\r\ntwo\tthree\u2028four')).toBe('one two three four');
  });

  it('returns nothing that a terminal would execute, whatever the input', () => {
    const nasty = fc.string({
      unit: fc.oneof(fc.constantFrom('\u001B', '\u009B', '[', ']', '\u0007', '\u0000', '\u202E', '\uD800', '3', 'm'), fc.string()),
    });
    fc.assert(
      fc.property(nasty, (text) => {
        const safe = safeText(text);
        expect(safe).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202A-\u202E\u2066-\u2069]/u);
        expect(safe.length).toBeLessThanOrEqual(300);
      }),
      { numRuns: 500 },
    );
  });

  it('cuts long text and marks the cut', () => {
    expect(safeText('x'.repeat(1_000_000), 10)).toBe('xxxxxxxxx…');
    expect(safeText('👍'.repeat(10), 4)).toBe('👍…');
    expect(safeText('exactly 10', 10)).toBe('exactly 10');
  });
});

describe('display width', () => {
  it('counts cells, not characters', () => {
    expect(displayWidth('abc█░…')).toBe(6);
    expect(displayWidth('日本')).toBe(4);
    expect(displayWidth('e\u0301')).toBe(1);
    expect(displayWidth('👩‍👩‍👧')).toBe(2);
  });

  it('fits and pads to the cell', () => {
    expect(fitWidth('日本語', 4)).toBe('日…');
    expect(padWidth('日本', 6)).toBe('日本  ');
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 0, max: 30 }), (text, width) => {
        expect(displayWidth(fitWidth(text, width))).toBeLessThanOrEqual(width);
        expect(displayWidth(padWidth(text, width))).toBe(width);
      }),
    );
  });
});
