import { parentPort, workerData } from 'node:worker_threads';
import { LogStore } from './log-store.ts';
import { OpenReaders } from './open-readers.ts';
import { sqliteFailure } from './sqlite-failure.ts';
import {
  type CallKind,
  type Failure,
  type WorkerCalls,
  type WorkerOptions,
  type WorkerReply,
  type WorkerRequest,
  WorkerFailure,
} from './worker-protocol.ts';

type Handlers = {
  readonly [K in CallKind]: (args: WorkerCalls[K]['args']) => WorkerCalls[K]['result'] | Promise<WorkerCalls[K]['result']>;
};

/** Answers calls in the thread that owns the file, so that SQLite blocks only this thread. */
function serve(port: NonNullable<typeof parentPort>, options: WorkerOptions): void {
  let opened: { readonly store: LogStore; readonly readers: OpenReaders } | undefined;

  function log(): { readonly store: LogStore; readonly readers: OpenReaders } {
    if (opened === undefined) throw new WorkerFailure({ kind: 'closed', what: `The topic log ${options.file}` });
    return opened;
  }

  const handlers: Handlers = {
    open: () => {
      const store = new LogStore(options);
      opened = { store, readers: new OpenReaders(store, options.pollMs) };
      return null;
    },
    'create-topics': ({ topics, validateOnly }) => {
      const created = log().store.createTopics(topics, validateOnly);
      log().readers.wake();
      return created;
    },
    'list-topics': (names) => log().store.listTopics(names),
    'open-lane': ({ lane, nowMs }) => log().store.openLane(lane, nowMs),
    'close-lane': (hold) => {
      log().store.closeLane(hold);
      return null;
    },
    write: (args) => {
      const positions = log().store.write(args);
      // Wake readers later, so that the writer's response goes out first.
      setImmediate(() => opened?.readers.wake());
      return positions;
    },
    'read-state': ({ topic, partition }) => log().store.readState(topic, partition),
    'open-reader': (args) => {
      log().readers.open(args);
      return null;
    },
    'next-chunk': ({ reader }) => log().readers.next(reader),
    'close-reader': ({ reader }) => {
      log().readers.close(reader);
      return null;
    },
    'commit-read': (offset) => {
      log().store.commitRead(offset);
      return null;
    },
    'group-offset': (topicPartition) => log().store.groupOffset(topicPartition),
    'offset-since': (args) => log().store.offsetSince(args),
    'delete-old': (args) => log().store.deleteOld(args),
    backup: ({ to }) => {
      log().store.backup(to);
      return null;
    },
    close: () => {
      const closing = opened;
      opened = undefined;
      closing?.readers.closeAll();
      closing?.store.close();
      // In Deno, the port can't be closed, so end the thread instead.
      setImmediate(() => (typeof port.close === 'function' ? port.close() : process.exit()));
      return null;
    },
  };

  function failed(error: unknown): Failure {
    return sqliteFailure(error, options).failure;
  }

  function answer<K extends CallKind>(request: WorkerRequest<K>): void {
    const { id } = request;
    try {
      const handle: Handlers[K] = handlers[request.kind];
      const result = handle(request.args);
      if (result instanceof Promise) {
        result.then(
          (late) => port.postMessage({ id, ok: true, result: late }),
          (error: unknown) => port.postMessage({ id, ok: false, failure: failed(error) } satisfies WorkerReply),
        );
      } else port.postMessage({ id, ok: true, result });
    } catch (error) {
      port.postMessage({ id, ok: false, failure: failed(error) } satisfies WorkerReply);
    }
  }

  port.on('message', (request: WorkerRequest) => answer(request));
}

if (parentPort !== null) serve(parentPort, workerData);
