import { from, type OperatorFunction, take, toArray } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { describe, expect, test } from 'vitest';
import { type SafeParser, splitValid } from './split-valid.ts';

class OverCapacityError extends Error {
  readonly code = 'EXAMPLE_OVER_CAPACITY';
  readonly retryable = true;
}

function run<In, Out>(records: readonly In[], operator: OperatorFunction<In, Out>): Out[] {
  let seen: Out[] = [];
  from(records)
    .pipe(operator, toArray())
    .subscribe((all) => (seen = all));
  return seen;
}

test('valid and dead records stay in one stream, in order and in time', () => {
  new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(({ cold, expectObservable }) => {
    const whole = (text: string): number => {
      if (!/^\d+$/.test(text)) {
        throw new RangeError(`${text} is no number`);
      }
      return Number(text);
    };
    expectObservable(cold('-1-x--2-|').pipe(splitValid(whole))).toBe('-a-b--c-|', {
      a: { ok: true, value: 1 },
      b: { ok: false, dead: { record: 'x', error: { code: 'HEADGATE_INVALID_RECORD', message: 'x is no number', retryable: false } } },
      c: { ok: true, value: 2 },
    });
  });
});

describe('what a check throws', () => {
  const reason = (thrown: unknown): unknown => {
    const [result] = run(
      ['record'],
      splitValid<string, string>(() => {
        throw thrown;
      }),
    );
    return result?.ok === false && result.dead.record === 'record' ? result.dead.error : undefined;
  };

  test.each([
    ['an error with a code', new OverCapacityError('later'), { code: 'EXAMPLE_OVER_CAPACITY', message: 'later', retryable: true }],
    ['text', 'broken', { code: 'HEADGATE_INVALID_RECORD', message: 'broken', retryable: false }],
    ['nothing', undefined, { code: 'HEADGATE_INVALID_RECORD', message: 'undefined', retryable: false }],
    ['an error of odd fields', { code: 7, message: '', retryable: 'yes' }, { code: 'HEADGATE_INVALID_RECORD', retryable: false }],
  ])('%s', (_, thrown, expected) => {
    expect(reason(thrown)).toMatchObject(expected);
  });
});

describe('a schema', () => {
  const schema: SafeParser<{ isbn: string }> = {
    safeParse(value) {
      if (typeof value === 'object' && value !== null && 'isbn' in value && typeof value.isbn === 'string') {
        return { success: true, data: { isbn: value.isbn } };
      }
      const issues = Array.from({ length: 7 }, (_, index) => ({
        message: `flaw ${index}`,
        path: index === 0 ? [] : ['data', index, 'isbn'],
      }));
      return { success: false, error: { message: '[\n  "long"\n]', issues } };
    },
  };

  test('gives its own reading of a record that fits', () => {
    expect(run([{ isbn: '1', more: 2 }], splitValid(schema))).toEqual([{ ok: true, value: { isbn: '1' } }]);
  });

  test('names the first flaws and their places in one line', () => {
    const message = 'flaw 0; data.1.isbn: flaw 1; data.2.isbn: flaw 2; data.3.isbn: flaw 3; data.4.isbn: flaw 4; and 2 more';
    expect(run([{}], splitValid(schema))).toEqual([
      { ok: false, dead: { record: {}, error: { code: 'HEADGATE_INVALID_RECORD', message, retryable: false } } },
    ]);
  });

  test('without a list of flaws gives its message', () => {
    const bare: SafeParser<never> = { safeParse: () => ({ success: false, error: { message: 'no' } }) };
    expect(run([1], splitValid(bare))).toMatchObject([{ ok: false, dead: { record: 1, error: { message: 'no' } } }]);
  });
});

test('records are checked only as far as downstream requests', () => {
  let checks = 0;
  from([1, 2, 3])
    .pipe(
      splitValid(() => (checks += 1)),
      take(2),
    )
    .subscribe();
  expect(checks).toBe(2);
});
