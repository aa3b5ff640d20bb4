import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Backoff } from '../../backoff.ts';
import { LaneLostError } from '../../lane-errors.ts';
import { TopicLogError } from '../../topic-log-error.ts';
import { TopicLostError, TopicUnknownError } from '../../topic-errors.ts';
import { QueuedLaneWriter } from '../../queued-lane-writer.ts';
import type { LiveState } from '../../state-reading.ts';
import type { LaneSpec, LaneTransaction, StateReading } from '../../topic-log.ts';
import { type TransactionContent, collectTransaction, stateChanges } from '../../transaction-content.ts';
import { isFenced } from '../client/error-kinds.ts';
import { type LaneHolder, LaneLog } from './lane-log.ts';
import type { Client } from '../client/client.ts';
import { abortable } from '../client/time-limit.ts';
import { Places } from '../producer/transactional-producer.ts';
import type { TransactionSession, TransactionSessionOptions } from '../producer/transaction-session.ts';

export interface KafkaLaneWriterOptions {
  readonly lane: LaneSpec;
  /** Random, one per open log. */
  readonly log: string;
  /** Creates a session with a new producer of the lane's transactional ID. */
  readonly session: (options: Pick<TransactionSessionOptions, 'places' | 'written' | 'noted' | 'notes' | 'signal'>) => TransactionSession;
  readonly client: Client;
  /** Chooses the partitions of records without one. Throws for records that can't be written. */
  readonly placed: (content: TransactionContent) => Promise<TransactionContent>;
  readonly member: () => LaneHolder['member'];
  /** Maximum difference between the clocks of two brokers, ms. */
  readonly skewMs: () => number;
  readonly onClose: (writer: KafkaLaneWriter) => void;
}

/**
 * Pauses before a fenced holder takes the lane again. Without them, it could fence its successor before the log shows that the successor has taken
 * the lane. They grow because taking a lane over a slow link can take several seconds.
 */
const FENCED_PAUSES = { leastMs: 375, firstMs: 750, mostMs: 12_000 };
/** How long a close waits for transactions in flight; an unreachable broker may need far longer. */
const CLOSE_WITHIN_MS = 2_000;

/**
 * The only writer of a lane. After an error of a broker or a connection, the outcome of a transaction can be unknown. The writer then takes the lane
 * again, as `transaction-law.ts` describes, and finds the transaction in the log or writes it again.
 */
export class KafkaLaneWriter extends QueuedLaneWriter {
  readonly #options: KafkaLaneWriterOptions;
  readonly #incarnation = randomUUID();
  readonly #sinceMs = Date.now();
  readonly #log: LaneLog;
  readonly #over = new AbortController();
  #state: LiveState | undefined;
  /** Partitions and group offsets that this writer writes, or in which an earlier holder may have left a transaction open. */
  readonly #places = new Places();
  readonly #written = new Map<string, number>();
  /** ID of the group's member that this writer's newest holder record names. */
  #memberId: string | undefined;
  #session: TransactionSession | undefined;
  /** Set after a transaction whose outcome this writer couldn't find out. */
  #undecided: TopicLogError | undefined;

  constructor(options: KafkaLaneWriterOptions) {
    super(options.lane.name);
    this.#options = options;
    const { state, writes = [], commits = [] } = options.lane;
    this.#log = new LaneLog(options.lane, this.#incarnation, options.client.cluster);
    this.#places.add({ topicPartitions: [state, ...writes], offsets: commits });
  }

  override get state(): StateReading {
    if (this.#state === undefined) throw new TypeError("This process hasn't taken the lane yet.");
    return this.#state;
  }

  /** Reads the lane's log to its end. Resolves to the holder that it names; undefined if no process has held the lane. */
  async currentHolder(): Promise<LaneHolder | undefined> {
    await this.#options.client.run(() => this.#log.readToEnd(), this.#over.signal);
    return this.#log.holder;
  }

  /** Takes the lane, and fences its holder. */
  async open(): Promise<void> {
    await this.#untilDone(() => Promise.resolve());
  }

  protected override async release(): Promise<void> {
    this.#options.onClose(this);
    const late = setTimeout(() => this.#over.abort(this.closedError()), CLOSE_WITHIN_MS);
    // Transactions queue the confirmation of their end when they are written.
    await this.queued(() => Promise.resolve());
    await this.#abortable(this.queued(() => this.#released())).catch(() => undefined);
    clearTimeout(late);
    this.#over.abort(this.closedError());
    const session = this.#session;
    this.#session = undefined;
    session?.close();
  }

  protected override async write(work: (tx: LaneTransaction) => void): Promise<void> {
    if (this.#undecided !== undefined) throw this.#undecided;
    const { lane, placed } = this.#options;
    const content = await this.#abortable(placed(collectTransaction(work, lane)));
    const id = { incarnation: this.#incarnation, number: this.#log.counted + 1 };
    // The process is another member after it has joined the group again. Newcomers spare a holder only while its member lives.
    const memberId = this.#options.member()?.id;
    await this.#untilDone(async (session) => {
      // A transaction of its own and without an ID, so that a successor that writes this one again doesn't name the old holder after itself.
      if (memberId !== undefined && memberId !== this.#memberId)
        await session.write({ records: [this.#holderRecord({ nonce: randomUUID() })], offsets: [] });
      await session.write(content, id);
      this.#log.counted = id.number;
    }).catch((error: unknown) => {
      // If `counted` has reached this number, the log has the transaction, although its writer got an error, or has lost the lane. Records for a
      // topic that was deleted count as written, too, but nobody will find them.
      if (this.#log.counted >= id.number && !(error instanceof TopicUnknownError)) return;
      if (this.#session === undefined && !(error instanceof LaneLostError))
        this.#undecided = error instanceof TopicLostError ? error : undecidedError(lane.name, error);
      throw error;
    });
    this.#state?.apply(stateChanges(content.records, lane.state));
    // The next transaction needn't wait for the end of this one any more, and readers needn't wait for the next transaction.
    void this.settled();
  }

  /** Resolves when readers can read all transactions that were called earlier, or when that can't be found out. */
  async settled(): Promise<void> {
    await this.queued(() => (this.#session === undefined ? Promise.resolve() : this.#untilDone((session) => session.settle()))).catch(
      () => undefined,
    );
  }

  /** Writes that this holder has released the lane, so that the next holder doesn't wait for it. */
  async #released(): Promise<void> {
    const session = this.#session;
    await session?.write({ records: [this.#holderRecord({ nonce: randomUUID(), released: true })], offsets: [] });
    await session?.settle();
  }

  /** Runs `work` with a session. After a temporary error, takes the lane again and repeats `work`. */
  async #untilDone(work: (session: TransactionSession) => Promise<void>): Promise<void> {
    const { client } = this.#options;
    const { signal } = this.#over;
    const whenFenced = new Backoff(FENCED_PAUSES);
    const attempt = async (): Promise<void> => {
      try {
        this.#session ??= await this.#take();
        await work(this.#session);
      } catch (error) {
        this.#session?.close();
        this.#session = undefined;
        if (isFenced(error)) await whenFenced.pause(signal);
        throw error;
      }
    };
    await client.run(attempt, signal).catch(async (error: unknown) => {
      // Taking the lane again ends the failed transaction, and shows whether it counts. Otherwise its records would keep readers waiting until it
      // times out.
      if (!signal.aborted && !(error instanceof LaneLostError))
        this.#session = await client.run(() => this.#take(), signal).catch(() => undefined);
      throw error;
    });
  }

  /** Fences all other holders, and only then reads the state to continue from. In the other order, the state could already be outdated. */
  async #take(): Promise<TransactionSession> {
    const nonce = randomUUID();
    const session = this.#options.session({
      places: this.#places,
      written: this.#written,
      notes: { ...this.#options.lane.state, key: this.#log.transactionKey },
      noted: async () => {
        await (this.#log.holder?.nonce === nonce ? this.#log.readToEnd() : this.#log.readTo(nonce));
        return this.#log.noted;
      },
      // Without the signal, a writer that is closed meanwhile could fence its successor, or take the lane from it.
      signal: this.#over.signal,
    });
    try {
      // This read throws if another process has taken the lane. It comes before the fence, so that this writer doesn't take the lane back.
      await Promise.all([this.#log.readToEnd(), session.connect()]);
      this.#over.signal.throwIfAborted();
      for (const { note } of this.#log.noted) this.#places.add({ topicPartitions: note.parts, offsets: note.offsets });
      await session.begin([this.#holderRecord({ nonce })]);
      this.#over.signal.throwIfAborted();
      const { id } = session.newest ?? {};
      const counted = id?.incarnation === this.#incarnation ? id.number : 0;
      if (counted < this.#log.counted) throw new TopicLostError({ topic: this.#options.lane.state.topic });
      this.#log.counted = counted;
      this.#state ??= this.#log.state(this.#options.skewMs());
      return session;
    } catch (error) {
      session.close();
      throw error;
    }
  }

  #holderRecord({ nonce, released }: { readonly nonce: string; readonly released?: boolean }) {
    const { lane } = this.#options;
    const member = this.#options.member();
    this.#memberId = member?.id;
    const holder: LaneHolder = {
      incarnation: this.#incarnation,
      log: this.#options.log,
      nonce,
      host: hostname(),
      pid: process.pid,
      sinceMs: this.#sinceMs,
      member,
      released,
    };
    return { ...lane.state, key: this.#log.holderKey, value: JSON.stringify(holder) };
  }

  /** Rejects as soon as the writer's signal aborts. A request to a broker that doesn't respond could take much longer. */
  #abortable<T>(work: Promise<T>): Promise<T> {
    return abortable(work, this.#over.signal);
  }
}

function undecidedError(lane: string, cause: unknown): TopicLogError {
  const message = `Whether the last transaction of lane "${lane}" was written is unknown. Open the lane again and continue from its state, which shows it.`;
  return new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_FAILED', message }, { cause });
}
