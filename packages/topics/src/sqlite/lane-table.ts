import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { integer, integerOrNull } from './column.ts';
import { LaneHeldError, LaneLostError } from '../lane-errors.ts';
import type { LaneHold } from './worker-protocol.ts';

/**
 * Each lane's holder and epoch. Every opening of a lane adds one to the epoch. The lock keeps newcomers out. Each transaction of a lane checks the
 * epoch, which fences a holder whose lock file was deleted.
 */
export class LaneTable {
  readonly #get: StatementSync;
  readonly #take: StatementSync;
  readonly #leave: StatementSync;

  constructor(db: DatabaseSync) {
    this.#get = db.prepare('SELECT epoch, pid, since_ms FROM lanes WHERE name = ?');
    this.#take = db.prepare(
      'INSERT INTO lanes (name, epoch, pid, since_ms) VALUES (?, 1, ?, ?) ' +
        'ON CONFLICT DO UPDATE SET epoch = epoch + 1, pid = excluded.pid, since_ms = excluded.since_ms RETURNING epoch',
    );
    this.#leave = db.prepare('UPDATE lanes SET pid = NULL, since_ms = NULL WHERE name = ? AND epoch = ?');
  }

  /** Call within a transaction, under the lane's lock. Returns the new epoch. */
  take(name: string, pid: number, nowMs: number): number {
    return integer(this.#take.get(name, pid, nowMs)?.['epoch']);
  }

  /** Throws if another holder has taken the lane. Call within a transaction. */
  verify(hold: LaneHold): void {
    if (this.#get.get(hold.name)?.['epoch'] !== hold.epoch) throw new LaneLostError({ lane: hold.name });
  }

  leave(hold: LaneHold): void {
    this.#leave.run(hold.name, hold.epoch);
  }

  heldError(name: string): LaneHeldError {
    const row = this.#get.get(name);
    const pid = row === undefined ? null : integerOrNull(row['pid']);
    const sinceMs = row === undefined ? null : integerOrNull(row['since_ms']);
    return new LaneHeldError({ lane: name, pid, sinceMs });
  }
}
