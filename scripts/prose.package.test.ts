import { expect, test } from 'vitest';
import { proseProblems } from './lint/prose-rules.mjs';

test.each([
  ['The run goes on by itself.', ['goes on', 'by itself']],
  ['It stands behind the page.', ['stands', 'behind']],
  ['Where none is set, `run` makes one.', ['Where', 'where none']],
  ['A tab is no indentation.', ['is no']],
  ['Done. What is left stays.', ['What']],
])('%s', (text, found) => {
  const said = proseProblems(text).map((problem) => problem.found.toLowerCase());
  expect(said.toSorted()).toEqual(found.map((phrase) => phrase.toLowerCase()).toSorted());
});

test('code, questions and good English pass', () => {
  for (const text of [
    'Write `goes on`.',
    'What is a lane?',
    'There is no topic.',
    'It is no longer used.',
    'If a lane lags behind, it catches up.',
  ])
    expect(proseProblems(text)).toEqual([]);
});

test('a description names a maximum as one', () => {
  expect(proseProblems('Most IDs of a page.')).toEqual([]);
  expect(proseProblems('Most IDs of a page.', { isDescription: true })).toMatchObject([
    { found: 'Most', cure: 'Write "Maximum" or "Minimum".' },
  ]);
});
