import type { TopicLog } from '@headgate/topics';

/** The log `log` with some of its methods replaced. */
export function logWith(log: TopicLog, own: Partial<TopicLog>): TopicLog {
  return new Proxy(log, {
    get(target, name): unknown {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name);
      const value: unknown = Reflect.get(target, name);
      // In Node 24, `await using` doesn't accept a bound function as the dispose method.
      return typeof value === 'function' ? (...given: unknown[]): unknown => Reflect.apply(value, target, given) : value;
    },
  });
}
