import { createRequire } from 'node:module';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { patchPrototype, patchRequestQueue } from './request-queue-patch.ts';
import type { RequestQueue } from './kafkajs-internals.ts';

const require = createRequire(import.meta.url);
const { prototype } = require('kafkajs/src/network/requestQueue') as { readonly prototype: RequestQueue };
const original = Object.getOwnPropertyDescriptor(prototype, 'scheduleCheckPendingRequests') ?? {};

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  Object.defineProperty(prototype, 'scheduleCheckPendingRequests', original);
});

describe('the request queue', () => {
  it('is idle when nothing waits; as delivered it never is', () => {
    const delivered = queue();
    delivered.scheduleCheckPendingRequests();
    expect(vi.getTimerCount()).toBe(1);
    vi.clearAllTimers();

    expect(patchRequestQueue()).toBe(true);
    const repaired = queue();
    repaired.scheduleCheckPendingRequests();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('still looks again for what waits, and after a throttling', () => {
    patchRequestQueue();
    const waiting = queue({ pending: ['request'] });
    waiting.scheduleCheckPendingRequests();
    waiting.scheduleCheckPendingRequests();
    vi.advanceTimersByTime(10);
    expect(waiting.looks).toBe(1);

    const throttled = queue({ pending: ['request'], throttledUntil: Date.now() + 500 });
    throttled.scheduleCheckPendingRequests();
    vi.advanceTimersByTime(499);
    expect(throttled.looks).toBe(0);
    vi.advanceTimersByTime(1);
    expect(throttled.looks).toBe(1);
  });

  it('is mended once', () => {
    expect(patchRequestQueue()).toBe(true);
    const repaired = Object.getOwnPropertyDescriptor(prototype, 'scheduleCheckPendingRequests');
    expect(patchRequestQueue()).toBe(true);
    expect(Object.getOwnPropertyDescriptor(prototype, 'scheduleCheckPendingRequests')).toEqual(repaired);
  });

  it('is left alone when the method is another', () => {
    const other = Object.assign(Object.create(prototype) as RequestQueue, { scheduleCheckPendingRequests: () => undefined });
    const { scheduleCheckPendingRequests } = Object.getOwnPropertyDescriptors(other);
    expect(patchPrototype(other)).toBe(false);
    expect(Object.getOwnPropertyDescriptor(other, 'scheduleCheckPendingRequests')).toEqual(scheduleCheckPendingRequests);
  });
});

function queue(state: { readonly pending?: readonly string[]; readonly throttledUntil?: number } = {}): RequestQueue & { looks: number } {
  const made = Object.create(prototype) as RequestQueue & { looks: number };
  return Object.assign(made, {
    pending: [],
    throttledUntil: -1,
    throttleCheckTimeoutId: null,
    looks: 0,
    checkPendingRequests: () => void made.looks++,
    ...state,
  });
}
