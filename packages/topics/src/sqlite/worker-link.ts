import { Worker } from 'node:worker_threads';
import { closedError } from '../topic-log-error.ts';
import { failedError, failureToError } from './failure-to-error.ts';
import type { CallKind, WorkerCalls, WorkerOptions, WorkerReply, WorkerRequest } from './worker-protocol.ts';

/** How long `close` waits for the worker, which may itself still wait for another process's lock. */
const CLOSE_MS = 5_000;

/** Sends calls to the worker. The worker keeps the process alive only while a call waits for its response. */
export class WorkerLink {
  readonly #file: string;
  readonly #worker: Worker;
  readonly #pending = new Map<number, { readonly resolve: (result: never) => void; readonly reject: (error: Error) => void }>();
  readonly #exited: Promise<void>;
  #lastId = 0;
  #dead: Error | undefined;

  constructor(options: WorkerOptions, entry: URL = workerEntry()) {
    this.#file = options.file;
    // The flag prevents a warning of Node 22, once per thread, that node:sqlite is experimental. Deno refuses the flag.
    const execArgv = process.allowedNodeEnvironmentFlags.has('--disable-warning') ? ['--disable-warning=ExperimentalWarning'] : [];
    this.#worker = new Worker(entry, { workerData: options, name: 'headgate-topics', execArgv });
    this.#worker.unref();
    this.#worker.on('message', (reply: WorkerReply) => this.#settle(reply));
    this.#worker.on('error', (error) => this.#die(error));
    this.#exited = new Promise((resolve) => {
      this.#worker.once('exit', (code) => {
        this.#die(new Error(`its thread ended with code ${code}`));
        resolve();
      });
    });
  }

  call<K extends CallKind>(kind: K, args: WorkerCalls[K]['args']): Promise<WorkerCalls[K]['result']> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      if (this.#dead !== undefined) {
        reject(this.#dead);
        return;
      }
      const request: Pick<WorkerRequest, 'id' | 'kind'> & { args: unknown } = { id, kind, args };
      // Post before the call becomes pending: posting throws for a value that can't be cloned, and a pending call keeps the process alive.
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      this.#worker.postMessage(request);
      this.#pending.set(id, { resolve, reject });
      this.#worker.ref();
    });
  }

  /** Ends the thread, after it has finished the calls in flight and released the lanes. A thread that takes too long is terminated. */
  async close(): Promise<void> {
    const late = setTimeout(() => void this.#worker.terminate(), CLOSE_MS);
    try {
      await this.call('close', null);
    } catch {
      // The thread has already ended.
    }
    this.#dead ??= closedError(`The topic log ${this.#file}`);
    this.#worker.ref();
    await this.#exited;
    clearTimeout(late);
  }

  #settle(reply: WorkerReply): void {
    const call = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if (this.#pending.size === 0) this.#worker.unref();
    if (call === undefined) return;
    if (reply.ok) call.resolve(reply.result);
    else call.reject(failureToError(reply.failure));
  }

  #die(cause: Error): void {
    this.#dead ??= failedError({ file: this.#file, detail: cause.message }, { cause });
    for (const call of this.#pending.values()) call.reject(this.#dead);
    this.#pending.clear();
  }
}

/** Returns the worker's module: the source if this module runs from source, and otherwise the built file next to it. */
function workerEntry(): URL {
  return import.meta.url.endsWith('.ts') ? new URL('./worker.ts', import.meta.url) : new URL('./worker.js', import.meta.url);
}
