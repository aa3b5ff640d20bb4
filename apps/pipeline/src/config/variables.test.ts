import fc from 'fast-check';
import { expect, test } from 'vitest';
import { substituteVariables } from './variables.ts';

const lookup = (name: string): string | undefined => ({ A: 'one', B: '${A}', EMPTY: '' })[name];

test.each([
  ['${A}', 'one', ['A'], [], false],
  ['x-${A}-${EMPTY}-y', 'x-one--y', ['A', 'EMPTY'], [], false],
  ['${B}', '${A}', ['B'], [], false],
  ['$${A}', '${A}', [], [], false],
  ['$$${A}', '$${A}', [], [], false],
  ['${NOPE}', '', ['NOPE'], ['NOPE'], false],
  ['cost: 5$ {A} $A', 'cost: 5$ {A} $A', [], [], false],
  ['${a-b}', '${a-b}', [], [], true],
  ['${', '${', [], [], true],
  ['${}', '${}', [], [], true],
])('%s', (text, result, names, unset, malformed) => {
  expect(substituteVariables(text, lookup)).toEqual({ text: result, names, unset, malformed });
});

test('escaped text is unchanged', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('$', '{', '}', 'A', '_', ' ') }), (text) => {
      const escaped = text.replaceAll('${', () => '$${');
      expect(substituteVariables(escaped, lookup)).toMatchObject({ text, names: [], malformed: false });
    }),
  );
});
