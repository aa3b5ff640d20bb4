import { Client, type Dispatcher } from 'undici';

/** What `onRequestStart` is told as its context. */
export interface ConnectionContext {
  /** Whether an earlier request went over this connection: then it may have died while it lay idle. */
  readonly reused: boolean;
}

/** A client of one connection that tells each request whether the connection has carried one before. */
export class ReuseAwareClient extends Client {
  #requests = 0;

  constructor(origin: string | URL, options: Client.Options) {
    super(origin, options);
    this.on('connect', () => {
      this.#requests = 0;
    });
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    return super.dispatch(options, {
      ...handler,
      onRequestStart: (controller) => {
        const context: ConnectionContext = { reused: this.#requests > 0 };
        this.#requests += 1;
        handler.onRequestStart?.(controller, context);
      },
    });
  }
}
