/** Calls back when the signal that was watched last is aborted. Readers get one with each read, and hold credit between reads as well. */
export function latestSignal(onAbort: () => void): (signal: AbortSignal) => void {
  let watched: AbortSignal | undefined;
  return (signal) => {
    if (signal === watched) return;
    watched?.removeEventListener('abort', onAbort);
    watched = signal;
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
  };
}
