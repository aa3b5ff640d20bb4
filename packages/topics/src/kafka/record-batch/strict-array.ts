import { TopicLogError } from '../../topic-log-error.ts';

/**
 * An array that answers its length and what stands in `answers`, and throws a `TopicLogError` (HEADGATE_STRICT_ARRAY) for every other element, method, iteration or change:
 * whoever uses it in a way nobody thought of fails before anything is sent. `name` says in the error what it is.
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
      // What no array has may be asked for: `then` by await, `toJSON` by a logger.
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
