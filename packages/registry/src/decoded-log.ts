import type { ReadOptions, TopicLog, TopicReader } from '@headgate/topics';
import type { SchemaRegistry } from './registry.ts';

/** A log whose `readBytes` decodes values in the registry's wire format to JSON. Other values stay as they are. */
export function decodedLog(log: TopicLog, registry: SchemaRegistry): TopicLog {
  const readBytes = (options: ReadOptions): TopicReader<Uint8Array> => {
    const reader = log.readBytes(options);
    return {
      commit: (record) => reader.commit(record),
      close: () => reader.close(),
      [Symbol.asyncDispose]: () => reader[Symbol.asyncDispose](),
      async *[Symbol.asyncIterator]() {
        for await (const record of reader)
          yield record.value === null ? record : { ...record, value: await registry.decoded(record.value, options.signal) };
      },
    };
  };
  return new Proxy(log, {
    get(of, name) {
      if (name === 'readBytes') return readBytes;
      const member: unknown = Reflect.get(of, name, of);
      // Not `bind`: `await using` of Node 24 refuses a bound function.
      return typeof member === 'function' ? (...given: readonly unknown[]): unknown => Reflect.apply(member, of, given) : member;
    },
  });
}
