import { rangeChecks } from '@headgate/throttle/internal';
import { type LaneWriter, type TopicLog, TopicLogError } from '@headgate/topics';

/** Options of {@link cutLog}. */
export interface CutLogOptions {
  /** The operation, 1-based, at which the log fails permanently. */
  readonly at: number;
  /** True if that operation is durable although its caller sees an error. */
  readonly isDurable: boolean;
}

/** A log that fails at a given operation. */
export interface CutLog {
  /** Passes operations on to the underlying log, until it is cut off. */
  readonly log: TopicLog;
  /** Number of operations so far, as `at` counts them. */
  readonly operations: number;
  /** True after the log was cut off. */
  readonly isCut: boolean;
}

/**
 * Cuts a log off before or after one of its operations. The log is then in a state that a process killed at that moment can leave: a
 * transaction is complete or missing. Each later operation fails with a `TopicLogError` (HEADGATE_TOPIC_LOG_FAILED).
 */
export function cutLog(log: TopicLog, { at, isDurable }: CutLogOptions): CutLog {
  rangeChecks('cutLog').whole({ at }, 1, Infinity);
  let operations = 0;
  let isCut = false;
  const failed = (): TopicLogError =>
    new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_FAILED', retryable: true, message: 'The test cut off the log.' });
  const cut = async <Result>(operation: () => Promise<Result>): Promise<Result> => {
    operations += 1;
    if (isCut) throw failed();
    if (operations < at) return await operation();
    isCut = true;
    if (isDurable) await operation();
    throw failed();
  };
  const cutLane = (lane: LaneWriter): LaneWriter =>
    withMethods(lane, {
      transaction: (work) => cut(() => lane.transaction(work)),
      [Symbol.asyncDispose]: () => lane[Symbol.asyncDispose](),
    });
  return {
    log: withMethods(log, {
      createTopics: (specs) => cut(() => log.createTopics(specs)),
      joinGroup: (options) => cut(() => log.joinGroup(options)),
      async openLane(spec, signal) {
        if (isCut) throw failed();
        return cutLane(await log.openLane(spec, signal));
      },
      append: (records) => cut(() => log.append(records)),
      read(options) {
        if (isCut) throw failed();
        return log.read(options);
      },
      readBytes(options) {
        if (isCut) throw failed();
        return log.readBytes(options);
      },
      readState: (topic, partition) => cut(() => log.readState(topic, partition)),
    }),
    get operations() {
      return operations;
    },
    get isCut() {
      return isCut;
    },
  };
}

function withMethods<Target extends object>(target: Target, methods: Partial<Target>): Target {
  return new Proxy(target, {
    get(of, name) {
      const member: unknown = Reflect.get(name in methods ? methods : of, name, of);
      return typeof member === 'function' && !(name in methods) ? member.bind(of) : member;
    },
  });
}
