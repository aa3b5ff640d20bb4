import { TopicLogError } from '../../topic-log-error.ts';

/**
 * An array that gives its length and the entries of `answers`, and throws a `TopicLogError` (HEADGATE_STRICT_ARRAY) for every other
 * element, method, iteration or change: an unforeseen use fails before anything is sent. The error names the array by `name`.
 */
export function strictArray<Item>(name: string, length: number, answers: Readonly<Record<string, unknown>>): Item[] {
  const refuse = (use: string) => (): never => {
    throw unanswered({ name, use });
  };
  return new Proxy<Item[]>([], {
    get(array, property): unknown {
      if (property === 'length') return length;
      if (typeof property === 'string' && Object.hasOwn(answers, property)) return answers[property];
      if (property in array || isIndex(property)) throw unanswered({ name, use: String(property) });
      // Properties that no array has may be read: `then` by await, `toJSON` by a logger.
      return undefined;
    },
    has: refuse('in'),
    ownKeys: refuse('keys'),
    defineProperty: refuse('set'),
    deleteProperty: refuse('delete'),
  });
}

function isIndex(property: string | symbol): boolean {
  return typeof property === 'string' && /^\d+$/.test(property);
}

function unanswered({ name, use }: { readonly name: string; readonly use: string }): TopicLogError {
  const message = `${name} can't answer "${use}": hand it to one send of kafkajs, alone for its topic.`;
  return new TopicLogError({ code: 'HEADGATE_STRICT_ARRAY', message });
}
