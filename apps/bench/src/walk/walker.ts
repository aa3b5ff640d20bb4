/** Walks all pages of one user and returns how many ids came. */
export type Walker = () => Promise<number>;

/** The same page to every one of them. */
export interface WirePage {
  readonly ids: readonly string[];
  readonly next_cursor_str: string;
}

export const PATH = '/1.1/followers/ids.json';

/** A page to fetch, by its cursor. */
export function query(cursor: string): Readonly<Record<string, string>> {
  return { screen_name: 'alpha', cursor, count: '5000', stringify_ids: 'true' };
}
