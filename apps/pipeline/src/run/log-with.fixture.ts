import type { TopicLog } from '@headgate/topics';

/** A log that does some things in a way of its own, and the others as `log` does. */
export function logWith(log: TopicLog, own: Partial<TopicLog>): TopicLog {
  return new Proxy(log, {
    get(target, name): unknown {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name);
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
