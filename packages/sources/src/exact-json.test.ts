import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseExact, parseSpelled, parseUntouched } from './exact-json.ts';

const digits = fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }).map(String);

test('whole numbers of 64 bits keep every digit', () => {
  fc.assert(
    fc.property(fc.array(digits), (numbers) => {
      const parsed = parseExact(`{"ids":[${numbers.join(',')}]}`) as { ids: (number | string)[] };
      expect(parsed.ids.map(String)).toEqual(numbers.map((text) => (text === '-0' ? '0' : text)));
      for (const id of parsed.ids) expect(typeof id === 'string' || Number.isSafeInteger(id)).toBe(true);
    }),
  );
});

/** Returns the digits and the exponent of a decimal number, without leading and trailing zeros. */
function normal(text: string): string {
  const [, sign = '', whole = '', part = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const all = `${whole}${part}`.replace(/^0+/, '');
  const digits = all.replace(/0+$/, '');
  return digits === '' ? '0' : `${sign}${digits}e${Number(exponent) - part.length + all.length - digits.length}`;
}

const spelledNumber = fc.oneof(
  digits,
  fc.tuple(digits, fc.stringMatching(/^[0-9]{1,30}$/)).map(([whole, part]) => `${whole}.${part}`),
  fc.tuple(fc.nat(9), fc.integer({ min: -400, max: 400 })).map(([digit, exponent]) => `${digit}e${exponent}`),
  fc.constantFrom('-0', '-0.0', '1E+2', '0.10', '21.0', '1e400', '1e-400', '0.30000000000000004', '9007199254740993'),
);

test('a number stays one where it is the number that was sent, and is its text otherwise', () => {
  fc.assert(
    fc.property(spelledNumber, (spelled) => {
      const value = (parseExact(`[${spelled}]`) as [number | string])[0];
      expect(normal(String(value))).toBe(normal(spelled));
      expect(typeof value === 'number' || value === spelled).toBe(true);
    }),
  );
});

test.each([
  '21.0',
  '1.50',
  '-0',
  '1e3',
  '0.1',
  '0e-400',
  '5e-324',
  '1.5e-310',
  '2.2250738585072014e-308',
  '1.00000000000000000000',
  '123456789012345',
])('%s stays a number', (spelled) => {
  expect(parseExact(`[${spelled}, 9007199254740993]`)).toEqual([Number(spelled), '9007199254740993']);
});

test.each(['8e-324', '1.23e-323', '4.1234567e-320', '1e-400'])(
  '%s is its text: the nearest JavaScript number is another one',
  (spelled) => {
    expect(parseExact(`[${spelled}]`)).toEqual([spelled]);
  },
);

test('numbers of another spelling are their text, where that is asked for', () => {
  expect(parseSpelled('[21.0, 1e3, 9007199254740993, 7]')).toEqual(['21.0', '1e3', '9007199254740993', 7]);
});

test('text that looks like numbers is left alone', () => {
  const text = JSON.stringify({ title: 'no. 12345678901234567890, 1.50', list: ['[98765432109876543210]'] });
  expect(parseExact(text)).toEqual(JSON.parse(text));
});

test.each([
  '-0',
  '1.0',
  '[1e2]',
  '[1,-0]',
  '{"a" : -0}',
  '{"a":\n1.50}',
  '[ 12345678901234567890 ]',
  '{"a":[2,\t3.0]}',
  '[[-0]]',
  '[-1E1]',
])('%s is written as it came, wherever its number is', (text) => {
  expect(JSON.stringify(parseUntouched(text))).toBe(text.replaceAll(/\s/g, ''));
});

test('an untouched record is written as it came, however its numbers are spelled', () => {
  fc.assert(
    fc.property(spelledNumber, fc.string(), (spelled, title) => {
      const text = `{"title":${JSON.stringify(title)},"pages":${spelled},"deep":[{"msrp":${spelled}}]}`;
      expect(JSON.stringify(parseUntouched(text))).toBe(text);
    }),
  );
});

test('a number that is spelled as JavaScript spells it stays a number', () => {
  expect(parseUntouched('{"pages":262,"big":12345678901234567890}')).toMatchObject({ pages: 262 });
});

describe('nesting', () => {
  const nested = (depth: number, inner = ''): string => `${'['.repeat(depth)}${inner}${']'.repeat(depth)}`;

  test('an untouched record is at most 500 deep', () => {
    expect(JSON.stringify(parseUntouched(nested(500)))).toBe(nested(500));
    expect(() => parseUntouched(nested(501))).toThrow(RangeError);
    expect(parseUntouched(`["${'['.repeat(1_000)}\\"${'['.repeat(1_000)}"]`)).toHaveLength(1);
  });

  test('a bomb ends in an error that can be caught', () => {
    expect(() => parseExact(nested(1_000_000, '12345678901234567890'))).toThrow(RangeError);
    expect(() => parseUntouched('['.repeat(1_000_000))).toThrow(RangeError);
  });
});

test.each(['', '{', '{"ids":[12345678901234567890', 'nonsense', '{"a":01}'])('%j is refused', (text) => {
  expect(() => parseExact(text)).toThrow(SyntaxError);
  expect(() => parseUntouched(text)).toThrow(SyntaxError);
});
