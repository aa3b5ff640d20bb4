import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TopicPartition } from '../../topic-log.ts';
import { partitionKey } from '../../topic-partition.ts';
import { GroupSession } from './group-session.ts';

const SESSION_MS = 6_000;
const partitions = [0, 1].map((partition) => ({ topic: 'requests', partition }));
const answer = { memberId: 'm1', partitions, ageMs: 10 };

let told: string[];
let silences: number;
let suspendedMs: number;
let holding: GroupSession;

beforeEach(() => {
  vi.useFakeTimers();
  told = [];
  silences = 0;
  suspendedMs = 0;
  holding = new GroupSession({
    sessionTimeoutMs: SESSION_MS,
    now: () => Date.now() + suspendedMs,
    onAssigned: (list) => told.push(keys(list)),
    onUncertain: () => told.push('uncertain'),
    onSilence: () => void silences++,
  });
});

afterEach(() => {
  holding.close();
  vi.useRealTimers();
});

describe('a member', () => {
  it('reports its partitions after every join, and claims them', async () => {
    expect(holding.join()).toEqual([]);
    holding.joined(answer);
    await vi.advanceTimersByTimeAsync(0);
    expect(holding.join()).toEqual(partitions);
    holding.joined(answer);
    await vi.advanceTimersByTimeAsync(0);
    expect(told).toEqual(['requests-0 requests-1', 'requests-0 requests-1']);
    expect(holding.memberId).toBe('m1');
  });

  it('claims nothing once a session has passed since its last accepted heartbeat was sent', async () => {
    holding.joined(answer);
    await vi.advanceTimersByTimeAsync(3_000);
    holding.alive(1_000);
    await vi.advanceTimersByTimeAsync(SESSION_MS - 1_000 - 1);
    expect(told).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(told).toEqual(['requests-0 requests-1', 'uncertain']);
    expect(silences).toBe(1);
    expect(holding.join()).toEqual([]);
    expect(holding.memberId).toBeUndefined();
  });

  it('gets its partitions back when a later heartbeat is accepted, but not by one that was sent before', async () => {
    holding.joined(answer);
    await vi.advanceTimersByTimeAsync(10_000);
    holding.alive(10_000);
    await vi.advanceTimersByTimeAsync(0);
    expect(told).toHaveLength(2);
    holding.alive(5);
    await vi.advanceTimersByTimeAsync(0);
    expect(told).toEqual(['requests-0 requests-1', 'uncertain', 'requests-0 requests-1']);
    expect(holding.join()).toEqual(partitions);
  });

  it('keeps its partitions while it waits for the others to join', async () => {
    holding.joined(answer);
    await vi.advanceTimersByTimeAsync(700);
    holding.join();
    await vi.advanceTimersByTimeAsync(SESSION_MS - 1);
    expect(told).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(told).toEqual(['requests-0 requests-1', 'uncertain']);
  });

  it('claims nothing after the machine was suspended, even if its timers didn’t run', () => {
    holding.joined(answer);
    suspendedMs = SESSION_MS;
    expect(holding.join()).toEqual([]);
  });

  it('claims nothing after a session of silence, even if the machine’s clock was set back meanwhile', async () => {
    holding.joined(answer);
    suspendedMs = -3_600_000;
    await vi.advanceTimersByTimeAsync(SESSION_MS);
    expect(told).toEqual(['requests-0 requests-1', 'uncertain']);
    expect(holding.join()).toEqual([]);
  });

  it('reports nothing for a response that was read too late', async () => {
    holding.joined({ ...answer, ageMs: SESSION_MS });
    await vi.advanceTimersByTimeAsync(0);
    expect(told).toEqual(['uncertain']);
    expect(holding.join()).toEqual([]);
  });

  it('reports nothing after it has left', async () => {
    holding.joined(answer);
    holding.close();
    holding.joined(answer);
    await vi.advanceTimersByTimeAsync(2 * SESSION_MS);
    expect(told).toEqual([]);
  });
});

function keys(list: readonly TopicPartition[]): string {
  return list.map(partitionKey).join(' ');
}
