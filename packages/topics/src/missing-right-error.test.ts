import { expect, it } from 'vitest';
import { type MissingRight, MissingRightError, rightsWords } from './missing-right-error.ts';

const right = (operation: string, kind: MissingRight['kind'], name: string): MissingRight => ({ operation, kind, name });

it('says each resource once with all its operations, and those that lack the same together', () => {
  const rights = [
    right('Describe', 'topic', 'pages'),
    right('Write', 'transactional id', 'lane.0'),
    right('Describe', 'topic', 'ids'),
    right('Write', 'topic', 'pages'),
    right('Write', 'topic', 'ids'),
    right('Describe', 'topic', 'state'),
    right('Read', 'topic', 'state'),
    right('Write', 'topic', 'state'),
    right('Describe', 'topic', 'state'),
    right('Create', 'cluster', ''),
  ];
  expect(rightsWords(rights)).toEqual([
    'Describe and Write on topics pages, ids',
    'Write on transactional id lane.0',
    'Describe, Read and Write on topic state',
    'Create on the cluster',
  ]);
});

it('an error says the same in whichever order brokers report the rights', () => {
  const rights = [
    right('Describe', 'topic', 'pages'),
    right('Write', 'topic', 'pages'),
    right('Write', 'topic', 'ids'),
    right('Read', 'group', 'crew'),
  ];
  const { message } = new MissingRightError(rights);
  expect(message).toContain('lacks Read on group crew; Write on topic ids; Describe and Write on topic pages.');
  const [describe, write, ...others] = rights;
  expect(new MissingRightError([...others.toReversed(), ...[describe, write].flatMap((one) => one ?? [])]).message).toBe(message);
});

it('only topics can be created by another user', () => {
  const [create, write] = [right('Create', 'topic', 'pages'), right('Write', 'topic', 'pages')];
  expect(new MissingRightError([create]).message).toMatch(/\(kafka-acls\.sh --add\), or create them yourself\.$/u);
  expect(new MissingRightError([create, write]).message).toMatch(/\(kafka-acls\.sh --add\)\.$/u);
});

it('ends a run, because waiting doesn’t grant a right', () => {
  expect(new MissingRightError([right('Write', 'topic', 'pages')]).retryable).toBe(false);
});
