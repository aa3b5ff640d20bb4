import { expect, it } from 'vitest';
import { rights, topicRights } from '../requests/request.ts';
import { answeredError, missingRight, oneError } from './answered-error.ts';

const TOPIC_AUTHORIZATION_FAILED = 29;
const GROUP_AUTHORIZATION_FAILED = 30;
const needs = [...topicRights('Write', [{ topic: 'a' }, { topic: 'b' }, { topic: 'c' }]), ...rights('group', ['Read'], ['g'])];

it('names the rights of the topics that were refused, and of no other', () => {
  const error = oneError(['a', 'c'].map((topic) => answeredError(TOPIC_AUTHORIZATION_FAILED, { topic })));
  expect(missingRight(error, needs)?.rights.map(({ name }) => name)).toEqual(['a', 'c']);
});

it('names the rights of all topics if the refusal names none, and of a group if that was refused', () => {
  expect(missingRight(answeredError(TOPIC_AUTHORIZATION_FAILED), needs)?.rights.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  expect(missingRight(answeredError(GROUP_AUTHORIZATION_FAILED, { topic: 'a' }), needs)?.rights).toEqual([
    { operation: 'Read', kind: 'group', name: 'g' },
  ]);
  expect(missingRight(answeredError(3, { topic: 'a' }), needs)).toBeUndefined();
});
