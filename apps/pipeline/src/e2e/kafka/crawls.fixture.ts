import { partitionForKey } from '@headgate/topics';
import { expect } from 'vitest';
import { recordSchemas } from '../../records/index.ts';
import type { SharedKafkaPlace } from './kafka-place.fixture.ts';
import { type CommittedRecord, committed, eachCommitted } from './committed.fixture.ts';

/** Number of requests that repeated a user and a cursor. */
export function askedAgain({ service }: Pick<SharedKafkaPlace, 'service'>): number {
  const asked = service.requests.map(({ user, cursor }) => `${user} ${cursor}`);
  return asked.length - new Set(asked).size;
}

/** Number of requests that the service refused with 429. */
export function refusals({ service }: Pick<SharedKafkaPlace, 'service'>): number {
  return service.requests.filter(({ status }) => status === 429).length;
}

/**
 * Expects from the committed records that each user was crawled completely and once: IDs and pages in order, in the partition of the
 * user's key, and nothing else. `emit` says which of the two topics to check. Returns the number of IDs.
 */
export async function expectWhole(
  place: SharedKafkaPlace,
  emit: { readonly ids?: boolean; readonly pages?: boolean } = {},
): Promise<number> {
  const { broker, prefix, users, service } = place;
  const names = Object.keys(users);
  const brokers = broker.brokers;
  const expected = new Map(names.map((name) => [`@${name}`, service.followersOf(name)]));
  const total = [...expected.values()].reduce((sum, { length }) => sum + length, 0);

  const walks = new Walks(place, expected);
  if (emit.ids !== false) {
    await eachCommitted(brokers, `${prefix}followers.ids`, (record) => {
      const { user, page, id } = recordSchemas['followers.ids'].parse(JSON.parse(record.value ?? ''));
      walks.see(record, user, page, [id]);
    });
    expect({ topic: 'followers.ids', wrong: walks.wrong() }).toEqual({ topic: 'followers.ids', wrong: [] });
  }
  if (emit.pages !== false) {
    const pages = new Walks(place, expected);
    const chain = new Map<string, { readonly page: number; readonly cursor: string }>();
    await eachCommitted(brokers, `${prefix}followers.pages`, (record) => {
      const { user, page, ids, cursor, nextCursor } = recordSchemas['followers.pages'].parse(JSON.parse(record.value ?? ''));
      expect({ user, page, cursor }).toEqual({ user, ...(chain.get(user) ?? { page: 1, cursor: '-1' }) });
      chain.set(user, { page: page + 1, cursor: nextCursor });
      pages.see(record, user, page, ids);
    });
    expect({ topic: 'followers.pages', wrong: pages.wrong() }).toEqual({ topic: 'followers.pages', wrong: [] });
    expect([...chain.values()].map(({ cursor }) => cursor)).toEqual(names.map(() => '0'));
  }
  const crawls = (await committed(brokers, `${prefix}followers.crawls`)).map(({ value }) =>
    recordSchemas['followers.crawls'].parse(JSON.parse(value ?? '')),
  );
  for (const [user, ids] of expected) {
    const states = crawls.filter((crawl) => crawl.user === user).map(({ state, ids: count }) => `${state} ${count}`);
    expect([user, ...states]).toEqual([user, 'started 0', `completed ${ids.length}`]);
  }
  expect(crawls).toHaveLength(2 * names.length);
  expect(await committed(brokers, `${prefix}followers.dead-letters`)).toEqual([]);
  return total;
}

/** Checks the records of each user's list in order. */
class Walks {
  readonly #lanes: number;
  readonly #expected: ReadonlyMap<string, readonly string[]>;
  readonly #seen = new Map<string, { at: number; page: number }>();
  readonly #wrong: string[] = [];

  constructor({ lanes }: Pick<SharedKafkaPlace, 'lanes'>, expected: ReadonlyMap<string, readonly string[]>) {
    this.#lanes = lanes;
    this.#expected = expected;
  }

  see({ partition, offset, key }: CommittedRecord, user: string, page: number, ids: readonly string[]): void {
    const seen = this.#seen.get(user) ?? { at: 0, page: 1 };
    this.#seen.set(user, seen);
    const list = this.#expected.get(user) ?? [];
    const isNext = ids.every((id, i) => list[seen.at + i] === id) && page >= seen.page && page <= seen.page + 1;
    if ((!isNext || key !== user || partition !== partitionForKey(user, this.#lanes)) && this.#wrong.length < 10) {
      const found = `page ${page}, ids ${list.indexOf(ids[0] ?? '')} and ${ids.length - 1} more`;
      this.#wrong.push(`${partition}:${offset} ${user}: ${found}, where id ${seen.at} of page ${seen.page} was expected`);
    }
    seen.at += ids.length;
    seen.page = page;
  }

  /** The first ten errors, and every user with missing or extra IDs. */
  wrong(): readonly string[] {
    const counts = [...this.#expected].map(([user, { length }]) => ({ user, length, at: this.#seen.get(user)?.at ?? 0 }));
    return [
      ...this.#wrong,
      ...counts.filter(({ length, at }) => length !== at).map(({ user, length, at }) => `${user}: ${at} ids of ${length}`),
    ];
  }
}
