/**
 * An array that answers its length and what stands in `answers`, and throws `StrictArrayError` for every other element, method, iteration or change:
 * whoever uses it in a way nobody thought of fails before anything is sent. `name` says in the error what it is.
 */
export function strictArray<Item>(name: string, length: number, answers: Readonly<Record<string, unknown>>): Item[] {
  const refuse = (use: string) => (): never => {
    throw new StrictArrayError({ name, use });
  };
  return new Proxy<Item[]>([], {
    get(array, property): unknown {
      if (property === 'length') return length;
      if (typeof property === 'string' && Object.hasOwn(answers, property)) return answers[property];
      if (property in array || isIndex(property)) throw new StrictArrayError({ name, use: String(property) });
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

/** A batch of records was used in a way it has no answer for; nothing was sent. It is a mistake in this package, or a kafkajs it doesn't know. */
class StrictArrayError extends Error {
  override readonly name = 'StrictArrayError';
  readonly code = 'HEADGATE_STRICT_ARRAY';
  readonly retryable = false;

  constructor(details: { readonly name: string; readonly use: string }, options?: ErrorOptions) {
    super(`${details.name} can't answer "${details.use}": hand it to one send of kafkajs, alone for its topic.`, options);
  }
}
