import type { Observable, Subscription } from 'rxjs';

/** ISBNs as a caller passes them. A single text is one ISBN. */
export type IsbnInput = string | Iterable<string> | AsyncIterable<string> | Observable<string>;

/** Reads an input, one ISBN at a time. */
export interface IsbnReader {
  /** Resolves to the next ISBN, or rejects with the input's error. Wait for the result of a call before the next call. */
  next(): Promise<IteratorResult<string, unknown>>;
  /** Stops reading: ends the iterator or the subscription. Ignores its errors, because the consumer has stopped reading. */
  close(): void;
}

/**
 * Opens an input for reading. Nothing is read before `next` is called.
 *
 * An Observable pushes without demand: its items are buffered without a limit. An Observable that is also an AsyncIterable is read as an
 * AsyncIterable.
 */
export function openIsbns(input: IsbnInput): IsbnReader {
  if (typeof input === 'string') return pulled([input][Symbol.iterator]());
  if (Symbol.asyncIterator in input) return pulled(input[Symbol.asyncIterator]());
  if (Symbol.iterator in input) return pulled(input[Symbol.iterator]());
  return pushed(input);
}

function pulled(iterator: Iterator<string, unknown> | AsyncIterator<string, unknown>): IsbnReader {
  let done = false;
  return {
    async next() {
      if (done) return { done, value: undefined };
      try {
        const result = await iterator.next();
        done = result.done === true;
        return result;
      } catch (error) {
        done = true;
        throw error;
      }
    },
    close() {
      if (done) return;
      done = true;
      const returned = async (): Promise<unknown> => await iterator.return?.();
      returned().catch(() => undefined);
    },
  };
}

function pushed(input: Observable<string>): IsbnReader {
  const buffer: string[] = [];
  let first = 0;
  let end: { readonly error?: unknown } | undefined;
  let subscription: Subscription | undefined;
  let wake: (() => void) | undefined;

  const ended = (how: { readonly error?: unknown }): void => {
    end ??= how;
    wake?.();
  };
  const shift = (): string | undefined => {
    const isbn = buffer[first];
    first += 1;
    if (first === buffer.length) first = buffer.length = 0;
    return isbn;
  };
  return {
    async next() {
      subscription ??= input.subscribe({
        next: (isbn) => {
          buffer.push(isbn);
          wake?.();
        },
        error: (error: unknown) => ended({ error }),
        complete: () => ended({}),
      });
      while (buffer.length === 0 && end === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const isbn = buffer.length > 0 ? shift() : undefined;
      if (isbn !== undefined) return { done: false, value: isbn };
      if (end !== undefined && 'error' in end) throw end.error;
      return { done: true, value: undefined };
    },
    close() {
      buffer.length = first = 0;
      ended({});
      try {
        subscription?.unsubscribe();
      } catch {
        // A teardown threw.
      }
    },
  };
}
