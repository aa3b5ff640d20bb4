import { Observable, Subject, of, throwError } from 'rxjs';
import { expect, test } from 'vitest';
import { closeIsbns, type IsbnInput, openIsbns } from './isbn-input.ts';

async function readAll(input: IsbnInput): Promise<readonly string[]> {
  const reader = openIsbns(input);
  const all: string[] = [];
  for (let result = await reader.next(); result.done !== true; result = await reader.next()) all.push(result.value);
  expect(await reader.next()).toMatchObject({ done: true });
  return all;
}

async function* later(...isbns: string[]): AsyncGenerator<string> {
  yield* isbns;
}

test.each<[string, () => IsbnInput]>([
  ['an array', () => ['a', 'b']],
  ['a set', () => new Set(['a', 'b'])],
  ['a generator', () => ['a', 'b'].values()],
  ['an async generator', () => later('a', 'b')],
  ['an Observable', () => of('a', 'b')],
])('reads %s', async (_, input) => {
  expect(await readAll(input())).toEqual(['a', 'b']);
});

test('a text is one ISBN, not its letters', async () => {
  expect(await readAll('9780306406157')).toEqual(['9780306406157']);
});

test('what an Observable pushed before its error comes before that', async () => {
  const input = new Subject<string>();
  const reader = openIsbns(input);
  const first = reader.next();
  input.next('a');
  input.next('b');
  input.error(new Error('torn'));
  expect(await first).toEqual({ done: false, value: 'a' });
  expect(await reader.next()).toEqual({ done: false, value: 'b' });
  await expect(reader.next()).rejects.toThrow('torn');
  await expect(openIsbns(throwError(() => new Error('at once'))).next()).rejects.toThrow('at once');
});

test('nothing is read before it is requested, and closing ends the subscription or the iterator', async () => {
  let open = 0;
  const observable = new Observable<string>((subscriber) => {
    open += 1;
    subscriber.next('a');
    return () => {
      open -= 1;
    };
  });
  const pushed = openIsbns(observable);
  expect(open).toBe(0);
  await pushed.next();
  expect(open).toBe(1);
  const waiting = pushed.next();
  closeIsbns(pushed);
  expect(open).toBe(0);
  expect(await waiting).toMatchObject({ done: true });

  let finished = false;
  const pulled = openIsbns(
    (function* () {
      try {
        yield 'a';
        yield 'b';
      } finally {
        finished = true;
      }
    })(),
  );
  await pulled.next();
  closeIsbns(pulled);
  expect(finished).toBe(true);
  expect(await pulled.next()).toMatchObject({ done: true });
});

test('an input that fails while it is closed disturbs nobody', async () => {
  const torn = openIsbns(
    (function* () {
      try {
        yield 'a';
      } finally {
        // oxlint-disable-next-line no-unsafe-finally -- the input's own defect
        throw new Error('torn');
      }
    })(),
  );
  const observed = openIsbns(
    new Observable<string>((subscriber) => {
      subscriber.next('a');
      return () => {
        throw new Error('torn');
      };
    }),
  );
  for (const reader of [torn, observed]) {
    await reader.next();
    closeIsbns(reader);
    expect(await reader.next()).toMatchObject({ done: true });
  }
});
