import { LaneLostError } from '../../lane-errors.ts';
import type { LiveState } from '../../state-reading.ts';
import type { LaneSpec } from '../../topic-log.ts';
import type { Cluster } from '../client/cluster.ts';
import type { TransactionNote } from '../producer/find-transaction.ts';
import type { Noted } from '../producer/transaction-session.ts';
import { OWN_KEYS, StatePartition, type StateRecord } from './state-partition.ts';

/** A lane's holder, as written in the lane's state. The newest committed record of this kind names the current holder. */
export interface LaneHolder {
  /** Random, one per opening of a lane by a process. */
  readonly incarnation: string;
  /** Random, one per open log: two containers can have the same host name and pid. */
  readonly log: string;
  /** Random, one per record of a holder. */
  readonly nonce: string;
  readonly host: string;
  readonly pid: number;
  /** When the holder opened the lane, epoch ms, on the holder's clock. */
  readonly sinceMs: number;
  /** The holder's membership of the group that shares the lanes, if there is one. */
  readonly member?: { readonly group: string; readonly id: string } | undefined;
  /** True if the holder has released the lane and has nothing in flight. */
  readonly released?: boolean | undefined;
}

/**
 * A lane's state in the log. Each take of the lane and most transactions add a bookkeeping record to the state. These records show what the newest
 * transactions have written, and whether another process has taken the lane.
 */
export class LaneLog {
  readonly holderKey: string;
  readonly transactionKey: string;
  readonly #lane: LaneSpec;
  readonly #incarnation: string;
  readonly #cluster: Cluster;
  readonly #partition: StatePartition;
  #taken = false;
  #successor: LaneHolder | undefined;
  /** Nonce of the holder record up to which `readTo` reads. */
  #awaited: string | undefined;
  #noted: Noted[] = [];
  /** Number of this incarnation's newest transaction known to be in the log completely; 0 before the first. The writer sets it, too. */
  counted = 0;

  constructor(lane: LaneSpec, incarnation: string, cluster: Cluster) {
    this.#lane = lane;
    this.#incarnation = incarnation;
    this.#cluster = cluster;
    this.#partition = new StatePartition(lane.state);
    this.holderKey = `${OWN_KEYS}${lane.name}/holder`;
    this.transactionKey = `${OWN_KEYS}${lane.name}/transaction`;
  }

  /** The newest transaction that is known to be committed, and all later ones. Empty if a holder has released the lane since. */
  get noted(): readonly Noted[] {
    return this.#noted;
  }

  get holder(): LaneHolder | undefined {
    const entry = this.#partition.entries.get(this.holderKey);
    return entry === undefined ? undefined : (JSON.parse(entry.value) as LaneHolder);
  }

  /** Reads up to the last stable offset. Throws `LaneLostError` if another process has taken the lane since this one did. */
  async readToEnd(): Promise<void> {
    await this.#partition.readToEnd(this.#cluster, (record) => this.#note(record));
    this.#assertOurs();
  }

  /** Reads up to the holder record with this nonce. Everything that earlier holders committed is before this record. Throws like `readToEnd`. */
  async readTo(nonce: string): Promise<void> {
    this.#awaited = nonce;
    await this.#partition.readUntil(this.#cluster, (record) => this.#note(record) === nonce);
    this.#assertOurs();
  }

  /** The state as read so far, with ages at the time of the last take. `skewMs`: maximum difference between two brokers' clocks, ms. */
  state(skewMs: number): LiveState {
    const takenMs = this.#partition.entries.get(this.holderKey)?.timestampMs ?? 0;
    return this.#partition.reading(takenMs - skewMs);
  }

  /** Evaluates a record. Returns the nonce if it is a holder record of this writer. */
  #note({ key, value, isAborted }: StateRecord): string | undefined {
    if (value === null) return undefined;
    if (key === this.transactionKey) {
      const note = JSON.parse(value) as TransactionNote;
      if (!isAborted && note.incarnation === this.#incarnation) this.counted = Math.max(this.counted, note.number);
      this.#noted = [...(isAborted ? this.#noted : []), { id: note, isWhole: !isAborted, note, placed: new Map() }];
    }
    if (key !== this.holderKey) return undefined;
    const holder = JSON.parse(value) as LaneHolder;
    if (isAborted) {
      if (holder.nonce !== this.#awaited) return undefined;
      // The next reading passes this record again.
      this.#awaited = undefined;
      throw new Error('Another process started to take the lane, and aborted the attempt of this one.');
    }
    if (holder.released === true) this.#noted = [];
    if (holder.incarnation === this.#incarnation) {
      this.#taken = true;
      return holder.nonce;
    }
    if (this.#taken) this.#successor = holder;
    return undefined;
  }

  #assertOurs(): void {
    if (this.#successor === undefined) return;
    const { host, pid, sinceMs } = this.#successor;
    throw new LaneLostError({ lane: this.#lane.name, by: `process ${pid} on ${host} since ${new Date(sinceMs).toISOString()}` });
  }
}
