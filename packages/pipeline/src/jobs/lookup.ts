import type { Delivery } from '@headgate/throttle';
import type { NewRecord, RecordSeries } from '@headgate/topics';
import { endsLane, endsSource, isStop } from '../topics/source-error.ts';
import { readable, textOf } from '../settings/thrown.ts';
import { type UserFunction, answered, callUser, callUserList, misuse, userError } from '../topics/user-function.ts';
import { offsetRanges } from '../lane/offset-ranges.ts';
import { pipelineChecks } from '../settings/pipeline-error.ts';
import { type DeadLetterContent, reasonOf } from '../topics/dead-letter.ts';
import { requestContent } from '../topics/request.ts';
import { type PendingRecord, type TopicMap, countRecords, madeRecord } from '../topics/topic.ts';
import type { SourceControls, Processor, Worker, WorkerContext } from '../definition/processor.ts';
import { sizedRecords } from '../lane/record-size.ts';
import { type PendingDeadLetter, pendingDeadLetter, replayable, requestId } from './pending-dead-letter.ts';
import type { LookupDeadLetter, LookupDefinition } from './lookup-definition.ts';
import { type CheckedKeys, type LookupKey, type LookupRequest, keptLookups, lookupRequests } from './lookup-requests.ts';
import { dropAfter } from './after.ts';
import { MAX_IN_WORK } from './walk.ts';

const MAX_WAIT_MS = 200;

interface KeyOutcome {
  readonly pending: PendingRecord[];
  readonly deadLetters: LookupDeadLetter[];
}

interface WaitingKey<Request> extends LookupKey<Request> {
  readonly key: string;
}

/**
 * Processes requests as lookups: the keys of several requests can share one HTTP request, and each key gets its own result. The lane's
 * state stores which keys of a partly answered request are answered.
 */
export function lookup<Api extends SourceControls, Request, Answers, Topics extends TopicMap>(
  definition: LookupDefinition<Api, Request, Answers, Topics>,
): Processor<Request, Topics> {
  const { size, maxWaitMs = MAX_WAIT_MS } = definition;
  const check = pipelineChecks('lookup', 'HEADGATE_DEFINITION');
  check.whole({ size }, 1);
  check.number({ maxWaitMs }, 0, 2 ** 31 - 1);
  return {
    sources: [definition.source],
    open: (context) => lookupWorker(definition, context),
    left(state, pipeline) {
      const { kept, keys: keptKeys } = keptLookups(state);
      return ({ offset }, request) => {
        const done = offsetRanges(kept.get(offset)?.answered);
        const valid = keptKeys(offset) ?? sortedKeys(definition, request, { pipeline }).valid;
        return { kind: 'lookup', keys: valid.filter((_, index) => !done.has(index)).length, size };
      };
    },
    lastCrawl: () => () => undefined,
  };
}

interface SortedKeys extends CheckedKeys {
  /** The error of each key in `invalid`. */
  readonly errors: readonly unknown[];
}

/** Returns the keys of a request, normalized and without duplicates. A key for which `normalize` throws is invalid. */
function sortedKeys<Api extends SourceControls, Request, Answers, Topics extends TopicMap>(
  definition: LookupDefinition<Api, Request, Answers, Topics>,
  request: Request,
  of: Omit<UserFunction, 'name'>,
): SortedKeys {
  const valid = new Set<string>();
  const invalid = new Map<string, unknown>();
  for (const text of callUserList({ ...of, name: 'keys' }, () => definition.keys(request))) {
    assertText({ ...of, name: 'keys' }, text);
    try {
      const key = definition.normalize === undefined ? text : answered({ ...of, name: 'normalize' }, definition.normalize(text));
      assertText({ ...of, name: 'normalize' }, key);
      valid.add(key);
    } catch (error) {
      invalid.set(text, error);
    }
  }
  return { valid: [...valid], invalid: [...invalid.keys()], errors: [...invalid.values()] };
}

function assertText(of: UserFunction, key: unknown): void {
  if (typeof key !== 'string') throw misuse(of, `returns ${textOf(key)} as a key`, 'A key must be text');
}

function lookupWorker<Api extends SourceControls, Request, Answers, Topics extends TopicMap>(
  definition: LookupDefinition<Api, Request, Answers, Topics>,
  context: WorkerContext<Request, Topics>,
): Worker<Request> {
  const { pipeline, lane, notifier, clock, emit, credits, topics, tracing } = context;
  const { source, size } = definition;
  dropAfter(context, () => false);
  const requests = lookupRequests<Request>(pipeline, lane);
  /** The batches that have no response yet, each with the controller that aborts it. */
  const underWay = new Map<readonly WaitingKey<Request>[], AbortController>();
  let waiting: WaitingKey<Request>[] = [];
  let cancelTimer: (() => void) | undefined;
  let stopping = false;
  let isAbandoned = false;
  let inFlight = 0;
  let queued = 0;

  /** Lets work continue in the background. If the work fails, the lane fails, unless a stop of the run caused the error. */
  const run = (work: Promise<void>): void => {
    inFlight += 1;
    work
      .catch((error: unknown) => {
        if (!stopping || !(isStop(error) || isAbandoned)) notifier.fail(error);
      })
      .finally(() => {
        inFlight -= 1;
        notifier.notify();
      });
  };

  const write = async (
    keys: readonly LookupKey<Request>[],
    records: readonly (NewRecord | RecordSeries)[],
    deadLetters: readonly PendingDeadLetter[],
    emitMore: () => void = () => undefined,
  ): Promise<void> => {
    await requests.write(keys, [...records, ...deadLetters.map(({ record }) => record)]);
    emit({ type: 'keys-answered', pipeline, count: keys.length });
    emitMore();
    for (const dead of deadLetters) dead.emit();
  };

  const deadLetterOf = (of: LookupRequest<Request>, key: string, error: unknown, part?: LookupDeadLetter['part']): PendingDeadLetter => {
    const content: DeadLetterContent = part === undefined ? requestOfKey(of, key) : { record: part.record };
    return pendingDeadLetter(context, { key: part === undefined ? key : of.id, id: `${of.id}/${part?.id ?? key}`, content, error });
  };

  const requestOfKey = ({ record, keys }: LookupRequest<Request>, key: string): DeadLetterContent =>
    replayable(record, {
      // If the request has a single key, the dead letter contains the request itself.
      request: () => (keys.length > 1 ? callUser({ pipeline, key, name: 'requestOf' }, () => definition.requestOf([key])) : undefined),
      isFor(text) {
        const { valid, invalid } = sortedKeys(definition, context.read(text), { pipeline, key });
        return valid.length + invalid.length === 1 && (valid[0] ?? invalid[0]) === key;
      },
    });

  const writeFailed = async (keys: readonly WaitingKey<Request>[], error: unknown): Promise<void> =>
    await write(
      keys,
      [],
      keys.map(({ of, key }) => deadLetterOf(of, key, error)),
    );

  const queue = (of: LookupRequest<Request>, { valid, errors }: SortedKeys): void => {
    for (const [index, key] of valid.entries()) if (!of.answered.has(index)) waiting.push({ of, index, key });
    const refused = errors.map((_, i) => ({ of, index: of.valid + i }));
    const deadLetters = refused.map(({ index }) => {
      const text = of.keys[index] ?? '';
      // A dead letter shouldn't have a blank key, so it gets the key of its request.
      return deadLetterOf(of, text.trim() === '' ? of.record.key || of.id : text, errors[index - of.valid]);
    });
    if (refused.length > 0) run(write(refused, [], deadLetters));
    sendBatches(size);
    cancelTimer?.();
    cancelTimer = waiting.length > 0 ? clock.schedule(definition.maxWaitMs ?? MAX_WAIT_MS, sendAfterWait) : undefined;
  };

  /**
   * Sends batches while at least `least` keys are waiting and the quota has capacity, and cuts the last batch to that capacity. If the
   * quota has none and no other batch is under way, sends one batch, which waits for the quota's reset.
   */
  const sendBatches = (least: number): void => {
    let capacity = waiting.length >= least ? capacityNow() : 0;
    while (waiting.length >= least && (capacity > 0 || underWay.size === 0)) {
      const keys = waiting.splice(0, Math.min(size, capacity || size));
      capacity = Math.max(0, capacity - keys.length);
      run(traced(keys));
    }
  };

  const capacityNow = (): number => {
    const name = { pipeline, key: waiting[0]?.key ?? '', name: 'capacity' };
    try {
      const capacity: unknown = callUser(name, () => definition.capacity?.(source) ?? Infinity);
      if (typeof capacity !== 'number' || Number.isNaN(capacity))
        throw misuse(name, `returns ${textOf(capacity)}`, 'It must return a number');
      // The capacity of an overdrawn quota can be negative.
      return Math.max(0, Math.floor(capacity));
    } catch (error) {
      const keys = waiting;
      waiting = [];
      if (keys.length > 0) run(writeFailed(keys, error));
      return 0;
    }
  };

  /** Emits one event for all keys queued since the last event, because a list can have thousands. */
  const emitQueued = (): void => {
    if (queued > 0) emit({ type: 'keys-queued', pipeline, count: queued });
    queued = 0;
  };

  const flush = (): void => {
    emitQueued();
    cancelTimer?.();
    cancelTimer = undefined;
    sendBatches(1);
  };

  /**
   * Called after `maxWaitMs` without a further job. Sends the waiting keys, unless a batch is under way: until its response, waiting costs
   * no time, and more keys can fill the next batch.
   */
  const sendAfterWait = (): void => {
    emitQueued();
    cancelTimer = undefined;
    if (underWay.size === 0) sendBatches(1);
  };

  /** Called when a batch has its response or its error. The quota can now have capacity for the waiting keys. */
  const batchAnswered = (keys: readonly WaitingKey<Request>[]): void => {
    underWay.delete(keys);
    if (cancelTimer === undefined) sendBatches(underWay.size === 0 ? 1 : size);
    recutBatches();
  };

  /**
   * Cuts batches that wait for a permit if they exceed the quota's current capacity, because other requests can use capacity in the
   * meantime. Without capacity left, cuts none.
   */
  const recutBatches = (): void => {
    if (definition.capacity === undefined || stopping) return;
    const queued = new Set(
      source.gauges().queries.flatMap((query) => (query.state === 'queued' && query.for === 'budget' ? [query.id] : [])),
    );
    const unsent = [...underWay].filter(([keys]) => queued.has(keys));
    const capacity = unsent.length > 0 ? capacityNow() : 0;
    const tooLarge = unsent.filter(([keys]) => capacity > 0 && keys.length > capacity);
    for (const [keys, abort] of tooLarge) {
      underWay.delete(keys);
      abort.abort();
    }
    waiting = [...tooLarge.flatMap(([keys]) => keys), ...waiting];
    if (tooLarge.length > 0) sendBatches(1);
  };

  const traced = async (keys: readonly WaitingKey<Request>[]): Promise<void> => {
    tracing?.begin(keys, { pipeline, lane: lane.partition, keys: keys.length });
    try {
      await lookUp(keys);
    } finally {
      tracing?.end(keys);
    }
  };

  const lookUp = async (keys: readonly WaitingKey<Request>[]): Promise<void> => {
    emitQueued();
    const abort = new AbortController();
    underWay.set(keys, abort);
    let delivery: Delivery<Answers>;
    const name = { pipeline, key: keys[0]?.key ?? '', name: 'query' };
    try {
      delivery = await definition.query(
        source,
        keys.map(({ key }) => key),
        { credits, signal: abort.signal, walk: keys },
      );
      if (typeof delivery?.credit?.release !== 'function')
        throw misuse(name, `returns ${textOf(delivery)}`, "It must return what the source's query returns");
    } catch (thrown) {
      if (!underWay.has(keys)) return;
      const error = readable(thrown);
      if (isStop(error) || endsSource(error) || isAbandoned) throw error;
      // A stopped source can reject with any error. The keys stay unfinished, so the next run requests them again.
      if (stopping) return;
      batchAnswered(keys);
      await writeFailed(keys, reasonOf(error).code === 'HEADGATE_UNEXPECTED' ? userError(name, error) : error);
      return;
    }
    batchAnswered(keys);
    try {
      await deliver(keys, delivery.value);
    } finally {
      delivery.credit.release();
    }
  };

  const deliver = async (keys: readonly WaitingKey<Request>[], given: Answers): Promise<void> => {
    let answers: readonly KeyOutcome[];
    try {
      answers = outcomesOf(keys, given);
    } catch (error) {
      await writeFailed(keys, error);
      return;
    }
    const failed: PendingDeadLetter[] = [];
    const records: (NewRecord | RecordSeries)[] = [];
    const counts: Record<string, number> = {};
    for (const [index, { of, key }] of keys.entries()) {
      const { pending = [], deadLetters = [] } = answers[index] ?? {};
      let failure: PendingDeadLetter | undefined;
      try {
        const request = { pipeline, request: of.id, defaultId: key, origin: of.record, headers: tracing?.headers(keys) };
        for (const record of sizedRecords(pending, { ...request, key, lane, name: 'records' })) records.push(record);
        countRecords(pending, counts);
      } catch (error) {
        if (endsLane(error)) throw error;
        failure = deadLetterOf(of, key, error);
      }
      // Write the dead letter of a part even if its key failed. The part can belong to another key, so a replay of this key might not
      // return it.
      for (const { error, part } of deadLetters)
        if (part !== undefined || failure === undefined) failed.push(deadLetterOf(of, key, error, part));
      if (failure !== undefined) failed.push(failure);
    }
    await write(keys, records, failed, () => emit({ type: 'records-written', pipeline, kind: 'keys', counts }));
  };

  /** Returns the outcome of each key, in the order of `keys`. Throws if `records` returns an index that no requested key has. */
  const outcomesOf = (keys: readonly WaitingKey<Request>[], answers: Answers): readonly KeyOutcome[] => {
    const name = { pipeline, key: keys[0]?.key ?? '', name: 'records' };
    const outcomes = keys.map((): KeyOutcome => ({ pending: [], deadLetters: [] }));
    const outcomeOf = (index: number): KeyOutcome => {
      const found = outcomes[index];
      if (found === undefined)
        throw misuse(name, `returned an answer for key ${textOf(index)} of ${keys.length}`, 'It must return only keys that were requested');
      return found;
    };
    const requested = keys.map(({ of, key }) => ({ key, request: of.request, id: of.id }));
    const outcome = callUser(name, () => definition.records(answers, { requested, topics }));
    if (typeof outcome !== 'object' || outcome === null || !('records' in outcome))
      throw misuse(name, `returns ${textOf(outcome)}`, 'It must return { records, deadLetters }');
    for (const { index, record } of callUserList(name, () => outcome.records))
      outcomeOf(index).pending.push(madeRecord(name, context, record));
    for (const dead of callUserList(name, () => outcome.deadLetters)) outcomeOf(dead.index).deadLetters.push(dead);
    return outcomes;
  };

  return {
    backlog: Math.max(MAX_IN_WORK, 2 * size),
    get load() {
      return requests.load;
    },
    take(record, request) {
      const kept = requests.keptKeys(record.offset);
      let sorted: SortedKeys;
      try {
        const of = { pipeline, key: record.key || requestId(lane, record.offset) };
        sorted = kept === undefined ? sortedKeys(definition, request, of) : { valid: kept, invalid: [], errors: [] };
        if (kept === undefined) requests.check(record, sorted);
      } catch (error) {
        const of = requests.open(record, request, { valid: [], invalid: [''] });
        run(
          write(
            [{ of, index: 0 }],
            [],
            [pendingDeadLetter(context, { key: record.key || of.id, id: of.id, content: requestContent(record), error })],
          ),
        );
        return;
      }
      const of = requests.open(record, request, sorted);
      queued += of.left;
      if (of.keys.length === 0) run(requests.finish(of));
      else queue(of, sorted);
    },
    flush,
    stop() {
      stopping = true;
      cancelTimer?.();
      waiting = [];
      source.stop();
    },
    get isBusy() {
      return inFlight > 0;
    },
    abandon() {
      isAbandoned = true;
      for (const abort of underWay.values()) abort.abort();
    },
    inWork: () => ({ walks: [], keys: requests.load }),
    lastCrawl: () => undefined,
  };
}
