import { describe, expect, it } from 'vitest';
import { PipelineError } from '../settings/pipeline-error.ts';
import { guard, jobError, list, synchronous } from './user-function.ts';

const of = { pipeline: 'shelves', name: 'records' };
const revoked = Proxy.revocable({}, {});
revoked.revoke();
const throws = (): never => {
  throw new Error('a trap');
};
const all = new Proxy({}, { get: throws, has: throws, getPrototypeOf: throws, ownKeys: throws });

function caught(call: () => unknown): PipelineError {
  try {
    call();
  } catch (error) {
    const ofJob = jobError(error, 'bad');
    if (ofJob instanceof PipelineError) return ofJob;
  }
  throw new Error('expected a PipelineError');
}

describe('an error that throws when it is read counts as an error of the function that threw it:', () => {
  it.each<[string, unknown]>([
    ['a revoked proxy', revoked.proxy],
    ['a proxy whose every trap throws', all],
    ['a message that is a getter', Object.defineProperty(new Error('no'), 'message', { get: throws })],
    ['a stack that is a getter', Object.defineProperty(new Error('no'), 'stack', { get: throws })],
    ['a code that is a getter', Object.defineProperty(new Error('no'), 'code', { get: throws })],
    ['a name that is no text', Object.assign(new Error('no'), { name: Symbol('none') })],
    ['an object that nothing can show', { [Symbol.for('nodejs.util.inspect.custom')]: throws }],
  ])('%s', (_, error) => {
    const { code, message } = caught(() =>
      guard(of, synchronous, () => {
        throw error;
      }),
    );
    expect({ code, message }).toEqual({
      code: 'HEADGATE_USER_FUNCTION',
      message: expect.stringMatching(/^bad: records of pipeline shelves threw .*\. Fix it, then/),
    });
  });
});

it.each([
  ['a revoked proxy', revoked.proxy],
  ['a proxy whose every trap throws', all],
])('%s as a result is an error of the function that returned it', (_, result) => {
  expect(caught(() => guard(of, synchronous, () => result)).message).toMatch(/^bad: records of pipeline shelves threw /);
  expect(caught(() => guard(of, list, () => result)).message).toMatch(/^bad: records of pipeline shelves threw /);
});

it('truncates a message that quotes a whole page', () => {
  for (const error of [new Error('x'.repeat(1_000_000)), 'x'.repeat(1_000_000)]) {
    const { message } = caught(() =>
      guard(of, synchronous, () => {
        throw error;
      }),
    );
    expect(message.length).toBeLessThan(3_000);
  }
});
