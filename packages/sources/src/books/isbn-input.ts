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
  let subscription: Subscription | undefined;
  let reader: ReadableStreamDefaultReader<Pushed> | undefined;
  // The stream buffers what it gets. It drops its buffer when it fails, so an error is an item.
  const subscribed = (): ReadableStream<Pushed> =>
    new ReadableStream({
      start(buffer) {
        subscription = input.subscribe({
          next: (isbn) => buffer.enqueue({ isbn }),
          error: (error: unknown) => {
            buffer.enqueue({ error });
            buffer.close();
          },
          complete: () => buffer.close(),
        });
      },
      cancel: () => subscription?.unsubscribe(),
    });
  return {
    async next() {
      reader ??= subscribed().getReader();
      const { value } = await reader.read();
      if (value === undefined) return { done: true, value };
      if ('error' in value) throw value.error;
      return { done: false, value: value.isbn };
    },
    close() {
      reader?.cancel().catch(() => undefined);
    },
  };
}

type Pushed = { readonly isbn: string } | { readonly error: unknown };
