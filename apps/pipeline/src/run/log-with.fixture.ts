import type { TopicLog } from '@headgate/topics';

/** A log that does some things in a way of its own, and the others as `log` does. */
export function logWith(log: TopicLog, own: Partial<TopicLog>): TopicLog {
  return new Proxy(log, {
    get(target, name): unknown {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name);
      const value: unknown = Reflect.get(target, name);
      // `await using` in Node 24 takes a bound function for none.
      return typeof value === 'function' ? (...given: unknown[]): unknown => Reflect.apply(value, target, given) : value;
    },
  });
}
