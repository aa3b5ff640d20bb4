/** Crawls all pages of one user and resolves to the number of IDs. */
export type Walker = () => Promise<number>;

export interface WirePage {
  readonly ids: readonly string[];
  readonly next_cursor_str: string;
}

export const PATH = '/1.1/followers/ids.json';

export function query(cursor: string): Readonly<Record<string, string>> {
  return { screen_name: 'alpha', cursor, count: '5000', stringify_ids: 'true' };
}
