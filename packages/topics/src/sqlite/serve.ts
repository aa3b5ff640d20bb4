import type { MessagePort } from 'node:worker_threads';
import { fileError } from './file-errors.ts';
import { LogStore } from './log-store.ts';
import { plainError } from './plain-error.ts';
import type { WorkerReply, WorkerRequest } from './worker-link.ts';
import type { WorkerOptions } from './worker-protocol.ts';

/** Runs methods of the `LogStore` in the thread that owns the file, so that SQLite blocks only this thread. The first call opens the file. */
export function serve(port: MessagePort, options: WorkerOptions): void {
  let store: LogStore | undefined;

  function run({ method, args }: WorkerRequest): unknown {
    if (method === 'close') {
      // In Deno, the port can't be closed, so end the thread instead.
      setImmediate(() => (typeof port.close === 'function' ? port.close() : process.exit()));
      return store?.close();
    }
    store ??= new LogStore(options);
    return Reflect.apply(store[method], store, args);
  }

  function answer(request: WorkerRequest): WorkerReply {
    try {
      return { id: request.id, result: run(request) };
    } catch (error) {
      return { id: request.id, error: plainError(fileError(error, options.file, options.busyTimeoutMs)) };
    }
  }

  port.on('message', (request: WorkerRequest) => port.postMessage(answer(request)));
}
