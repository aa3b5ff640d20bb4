import type { Observable, Subscription } from 'rxjs';

/** ISBNs as a caller passes them. A single text is one ISBN. */
export type IsbnInput = string | Iterable<string> | AsyncIterable<string> | Observable<string>;

/** An input that is being read. Wait for the result of a call before the next call. */
export type IsbnIterator = Iterator<string, unknown> | AsyncIterator<string, unknown>;

/**
 * Opens an input for reading. Nothing is read before `next` is called.
 *
 * An Observable pushes without demand: its items are buffered without a limit. An Observable that is also an AsyncIterable is read as an
 * AsyncIterable.
 */
export function openIsbns(input: IsbnInput): IsbnIterator {
  if (typeof input === 'string') return [input].values();
  if (Symbol.asyncIterator in input) return input[Symbol.asyncIterator]();
  return Symbol.iterator in input ? input[Symbol.iterator]() : pushed(input);
}

/** Stops reading: ends the iterator or the subscription. Ignores its errors, because the consumer has stopped reading. */
export function closeIsbns(isbns: IsbnIterator): void {
  const returned = async (): Promise<unknown> => await isbns.return?.();
  returned().catch(() => undefined);
}

function pushed(input: Observable<string>): AsyncIterator<string, unknown> {
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
    async return() {
      await reader?.cancel();
      return { done: true, value: undefined };
    },
  };
}

type Pushed = { readonly isbn: string } | { readonly error: unknown };
