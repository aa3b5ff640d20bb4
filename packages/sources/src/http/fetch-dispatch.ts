import type { Dispatcher } from 'undici';

/** Starts a request, and reports its progress to the handler. May return a promise, because undici is loaded at the first request. */
export type Dispatch = (
  options: Dispatcher.DispatchOptions & { readonly origin: string },
  handler: Dispatcher.DispatchHandler,
) => void | Promise<void>;

/**
 * Sends requests with a `fetch`. A request counts as sent when `fetch` is called, because `fetch` doesn't report when the first byte is
 * sent. Bodies arrive decoded, without the headers that describe them encoded. Interim responses don't arrive.
 */
export function fetchDispatch(fetch: typeof globalThis.fetch): Dispatch {
  return ({ origin, method, path, headers, body }, handler) => {
    const abort = new AbortController();
    const controller: Dispatcher.DispatchController = {
      get aborted() {
        return abort.signal.aborted;
      },
      get reason() {
        return abort.signal.aborted ? (abort.signal.reason as Error) : null;
      },
      paused: false,
      abort: (reason) => abort.abort(reason),
      pause: () => undefined,
      resume: () => undefined,
    };
    const exchanged = async (): Promise<void> => {
      handler.onRequestStart?.(controller, null);
      if (abort.signal.aborted) return;
      const response = await fetch(`${origin}${path}`, {
        method,
        headers: headers as Record<string, string>,
        redirect: 'manual',
        signal: abort.signal,
        ...(typeof body === 'string' && { body }),
      });
      const received = Object.fromEntries(response.headers);
      const { 'content-encoding': encoding, 'content-length': _, ...decoded } = received;
      const isDecoded = encoding !== undefined && method !== 'HEAD';
      handler.onResponseStart?.(controller, response.status, isDecoded ? decoded : received, response.statusText);
      for await (const chunk of response.body ?? []) {
        if (abort.signal.aborted) return;
        handler.onResponseData?.(controller, Buffer.from(chunk));
      }
      handler.onResponseEnd?.(controller, {});
    };
    exchanged().catch((error: unknown) => {
      const { cause = error } = error instanceof Error ? error : {};
      handler.onResponseError?.(controller, cause instanceof Error ? cause : new Error(String(cause)));
    });
  };
}
