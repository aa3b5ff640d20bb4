import { createRequire } from 'node:module';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { patchRequestQueue } from './request-queue-patch.ts';
import type { RequestQueue } from './kafkajs-internals.ts';

const require = createRequire(import.meta.url);
const { prototype } = require('kafkajs/src/network/requestQueue') as { readonly prototype: RequestQueue };
const METHODS = ['scheduleCheckPendingRequests', 'scheduleRequestTimeoutCheck'] as const;
const delivered = METHODS.map((name) => prototype[name]);

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  METHODS.forEach((name, i) => Object.assign(prototype, { [name]: delivered[i] }));
});

describe('the request queue', () => {
  it('is idle when nothing waits; as delivered it never is', () => {
    const unpatched = queue();
    unpatched.scheduleCheckPendingRequests();
    expect(vi.getTimerCount()).toBe(1);
    vi.clearAllTimers();

    patchRequestQueue();
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

  it('looks for overdue requests once a second, until the connection is gone', () => {
    patchRequestQueue();
    let overdue = 0;
    const request = { requestTimeout: 1_500, timeoutRequest: () => void overdue++ };
    const connected = queue({ enforceRequestTimeout: true, requestTimeout: 15_000, inflight: new Map([[1, request]]) });
    connected.scheduleRequestTimeoutCheck();
    // As it does on each connection that comes about.
    connected.scheduleRequestTimeoutCheck();
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(2_999);
    expect(overdue).toBe(0);
    vi.advanceTimersByTime(1);
    expect(overdue).toBe(1);
    Object.assign(connected, { isConnected: () => false });
    vi.advanceTimersByTime(1_000);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('looks for them as often as their limit is, where that is less than a second', () => {
    patchRequestQueue();
    let overdue = 0;
    const request = { requestTimeout: 300, timeoutRequest: () => void overdue++ };
    queue({ enforceRequestTimeout: true, requestTimeout: 300, inflight: new Map([[1, request]]) }).scheduleRequestTimeoutCheck();
    vi.advanceTimersByTime(600);
    expect(overdue).toBe(1);
  });

  it.each([
    ['forward', 3_600_000],
    ['back', -3_600_000],
  ])('takes no request for overdue, nor for in time, because the wall clock was set %s', (_, byMs) => {
    patchRequestQueue();
    let overdue = 0;
    // As kafkajs's own look reads it.
    const sent = { sentAt: Date.now() };
    const request = { ...sent, requestTimeout: 5_000, timeoutRequest: () => void overdue++ };
    queue({ enforceRequestTimeout: true, requestTimeout: 5_000, inflight: new Map([[1, request]]) }).scheduleRequestTimeoutCheck();
    vi.setSystemTime(Date.now() + byMs);
    vi.advanceTimersByTime(4_999);
    expect(overdue).toBe(0);
    vi.advanceTimersByTime(2_000);
    expect(overdue).toBe(1);
  });

  it('looks for none where requests have no limit', () => {
    patchRequestQueue();
    queue({ enforceRequestTimeout: false }).scheduleRequestTimeoutCheck();
    expect(vi.getTimerCount()).toBe(0);
  });
});

function queue(state: Partial<RequestQueue> = {}): RequestQueue & { looks: number } {
  const made = Object.create(prototype) as RequestQueue & { looks: number };
  return Object.assign(made, {
    pending: [],
    throttledUntil: -1,
    throttleCheckTimeoutId: null,
    looks: 0,
    isConnected: () => true,
    checkPendingRequests: () => void made.looks++,
    ...state,
  });
}
