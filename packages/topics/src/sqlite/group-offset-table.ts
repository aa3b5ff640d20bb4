import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { integer, integerOrNull } from './column.ts';

/** Per group and partition the offset that is read next. */
export class GroupOffsetTable {
  readonly #get: StatementSync;
  readonly #set: StatementSync;
  readonly #advance: StatementSync;
  readonly #least: StatementSync;

  constructor(db: DatabaseSync) {
    const insert =
      'INSERT INTO group_offsets (group_name, partition_id, next_offset) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET next_offset =';
    this.#get = db.prepare('SELECT next_offset FROM group_offsets WHERE group_name = ? AND partition_id = ?');
    this.#set = db.prepare(`${insert} excluded.next_offset`);
    this.#advance = db.prepare(`${insert} max(next_offset, excluded.next_offset)`);
    this.#least = db.prepare('SELECT min(next_offset) AS least FROM group_offsets WHERE partition_id = ?');
  }

  get(group: string, partitionId: number): number | null {
    const row = this.#get.get(group, partitionId);
    return row === undefined ? null : integer(row['next_offset']);
  }

  /** The least that any group has committed; undefined where none has. */
  least(partitionId: number): number | undefined {
    return integerOrNull(this.#least.get(partitionId)?.['least']) ?? undefined;
  }

  set(group: string, partitionId: number, next: number): void {
    this.#set.run(group, partitionId, next);
  }

  /** Never goes back: readers may commit out of order. */
  advance(group: string, partitionId: number, next: number): void {
    this.#advance.run(group, partitionId, next);
  }
}
