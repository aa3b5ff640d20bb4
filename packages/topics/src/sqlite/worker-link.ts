import { Worker } from 'node:worker_threads';
import { closedError } from '../topic-log-error.ts';
import { failedError } from './file-errors.ts';
import type { LogStore } from './log-store.ts';
import { type PlainError, rebuiltError } from './plain-error.ts';
import type { WorkerOptions } from './worker-protocol.ts';

/** How long `close` waits for the worker, which may itself still wait for another process's lock. */
const CLOSE_MS = 5_000;

/** The methods of `LogStore`, which the worker runs in call order. */
type Calls = { [K in keyof LogStore as LogStore[K] extends (...args: never) => unknown ? K : never]: LogStore[K] };

export interface WorkerRequest {
  readonly id: number;
  readonly method: keyof Calls;
  readonly args: readonly unknown[];
}

export type WorkerReply = { readonly id: number; readonly result: unknown } | { readonly id: number; readonly error: PlainError };

interface PendingCall {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

/** Sends calls to the worker. The worker keeps the process alive only while a call waits for its response. */
export class WorkerLink {
  readonly #file: string;
  readonly #worker: Worker;
  readonly #pending = new Map<number, PendingCall>();
  readonly #exited: Promise<void>;
  #lastId = 0;
  #dead: Error | undefined;

  constructor(options: WorkerOptions, entry: URL = workerEntry()) {
    this.#file = options.file;
    // The flag prevents a warning of Node 22, once per thread, that node:sqlite is experimental. Deno refuses the flag.
    const execArgv = process.allowedNodeEnvironmentFlags.has('--disable-warning') ? ['--disable-warning=ExperimentalWarning'] : [];
    // The thread passes records on and keeps none, so more room for young objects would only stay unused memory.
    const resourceLimits = { maxYoungGenerationSizeMb: 3 };
    this.#worker = new Worker(entry, { workerData: options, name: 'headgate-topics', execArgv, resourceLimits });
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

  call<K extends keyof Calls>(method: K, ...args: Parameters<Calls[K]>): Promise<ReturnType<Calls[K]>> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      if (this.#dead !== undefined) {
        reject(this.#dead);
        return;
      }
      // Post before the call becomes pending: posting throws for a value that can't be cloned, and a pending call keeps the process alive.
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      this.#worker.postMessage({ id, method, args } satisfies WorkerRequest);
      this.#pending.set(id, { resolve, reject });
      this.#worker.ref();
    });
  }

  /** Ends the thread, after it has finished the calls in flight and released the lanes. A thread that takes too long is terminated. */
  async close(): Promise<void> {
    const late = setTimeout(() => void this.#worker.terminate(), CLOSE_MS);
    try {
      await this.call('close');
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
    if ('error' in reply) call?.reject(rebuiltError(reply.error));
    // The call's own type says what the method returns.
    else call?.resolve(reply.result as never);
  }

  #die(cause: Error): void {
    this.#dead ??= failedError(this.#file, cause.message, cause);
    for (const call of this.#pending.values()) call.reject(this.#dead);
    this.#pending.clear();
  }
}

/** Returns the worker's module: the source if this module runs from source, and otherwise the built file next to it. */
function workerEntry(): URL {
  return import.meta.url.endsWith('.ts') ? new URL('./worker.ts', import.meta.url) : new URL('./worker.js', import.meta.url);
}
