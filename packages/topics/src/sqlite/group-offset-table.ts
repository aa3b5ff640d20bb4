import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { integer, text } from './column.ts';
import { corruptError } from './file-errors.ts';

interface GroupOffset {
  readonly group: string;
  readonly partitionId: number;
  readonly next: number;
}

/** The offset that each group reads next in each partition. */
export class GroupOffsetTable {
  readonly #file: string;
  readonly #all: StatementSync;
  readonly #set: StatementSync;

  constructor(db: DatabaseSync, file: string) {
    this.#file = file;
    this.#all = db.prepare('SELECT group_name, partition_id, next_offset, checksum FROM group_offsets');
    this.#set = db.prepare(
      'INSERT INTO group_offsets (group_name, partition_id, next_offset, checksum) VALUES (?, ?, ?, ?) ' +
        'ON CONFLICT DO UPDATE SET next_offset = excluded.next_offset, checksum = excluded.checksum',
    );
  }

  get(group: string, partitionId: number): number | null {
    return this.#verified().find((row) => row.group === group && row.partitionId === partitionId)?.next ?? null;
  }

  set(group: string, partitionId: number, next: number): void {
    this.#set.run(group, partitionId, next, checksum({ group, partitionId, next }));
  }

  /** Sets the offset, unless that would decrease it, because readers can commit out of order. */
  advance(group: string, partitionId: number, next: number): void {
    if (next > (this.get(group, partitionId) ?? -1)) this.set(group, partitionId, next);
  }

  /** Returns all rows after a check. A query for one group and partition would miss a row in which exactly these are damaged. */
  #verified(): readonly GroupOffset[] {
    return this.#all.all().map((row) => {
      const found = { group: text(row['group_name']), partitionId: integer(row['partition_id']), next: integer(row['next_offset']) };
      if (integer(row['checksum']) !== checksum(found)) throw corruptError(this.#file, "the offset of a group doesn't match its checksum");
      return found;
    });
  }
}

function checksum({ group, partitionId, next }: GroupOffset): number {
  return crc32(`${group}\n${partitionId}\n${next}`);
}
