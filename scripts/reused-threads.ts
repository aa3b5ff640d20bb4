/**
 * Makes the embedded logs of a process share threads: a thread whose log was closed serves the next log. Starting a thread takes more CPU
 * than most tests.
 */
import { EventEmitter } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import threads, { MessageChannel, type MessagePort, type Worker, type WorkerOptions } from 'node:worker_threads';

const OWN = new URL('../packages/topics/src/sqlite/worker.ts', import.meta.url).href;
const SHARED = new URL('reused-thread.ts', import.meta.url);
const RealWorker = threads.Worker;
const free: Worker[] = [];

/** The part of `Worker` that a log uses. */
class ReusedThread extends EventEmitter {
  readonly #thread: Worker;
  readonly #port: MessagePort;
  #isLost = false;

  constructor({ workerData, ...options }: WorkerOptions) {
    super();
    const thread = free.pop() ?? new RealWorker(SHARED, options);
    const { port1, port2 } = new MessageChannel();
    this.#thread = thread;
    this.#port = port1;
    const onError = (error: unknown): void => {
      this.#isLost = true;
      this.emit('error', error);
    };
    const onExit = (code: number): unknown => this.emit('exit', code);
    thread
      .on('error', onError)
      .on('exit', onExit)
      .postMessage({ port: port2, options: workerData as unknown }, [port2]);
    thread.unref();
    port1.on('message', (message) => this.emit('message', message));
    port1.once('close', () => {
      if (this.#isLost) return;
      thread.off('error', onError).off('exit', onExit);
      free.push(thread);
      this.emit('exit', 0);
    });
  }

  postMessage(message: unknown): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#port.postMessage(message);
  }

  ref(): void {
    this.#port.ref();
  }

  unref(): void {
    this.#port.unref();
  }

  async terminate(): Promise<number> {
    this.#isLost = true;
    return await this.#thread.terminate();
  }
}

threads.Worker = new Proxy(RealWorker, {
  construct: (target, [entry, options]: [URL, WorkerOptions]) =>
    String(entry) === OWN ? new ReusedThread(options) : new target(entry, options),
});
syncBuiltinESMExports();
