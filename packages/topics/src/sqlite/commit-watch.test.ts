import { expect, it, onTestFinished, vi } from 'vitest';
import { CommitWatch } from './commit-watch.ts';

const forEver = new AbortController().signal;

it('a waiting reader polls every pollMs at first, and up to five times less often while nothing arrives', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let version = 1;
  let looks = 0;
  const commits = new CommitWatch(() => {
    looks++;
    return Promise.resolve(version);
  }, 50);
  const looksWithin = async (ms: number): Promise<number> => {
    looks = 0;
    await vi.advanceTimersByTimeAsync(ms);
    return looks;
  };
  // Waits until all that is new has been seen.
  const settled = async (): Promise<void> => {
    const first = commits.after(commits.count('topic'), 'topic', forEver);
    await vi.advanceTimersByTimeAsync(50);
    await first;
  };
  await settled();

  const first = commits.after(commits.count('topic'), 'topic', forEver);
  expect(await looksWithin(200)).toBeGreaterThan(2);
  await looksWithin(60_000);
  expect(await looksWithin(60_000)).toBe(60_000 / 250);
  version++;
  expect(await looksWithin(250)).toBe(1);
  await first;
  expect(await looksWithin(60_000)).toBe(0);

  const second = commits.after(commits.count('topic'), 'topic', forEver);
  version++;
  expect(await looksWithin(50)).toBe(1);
  await second;
});

it('wakes the readers of the topics that this log has written, and those that looked before the commit', async () => {
  const commits = new CommitWatch(() => Promise.resolve(1), 1_000_000);
  const woken: string[] = [];
  const stop = new AbortController();
  const wait = (topic: string, seen = commits.count(topic)): void =>
    void commits.after(seen, topic, stop.signal).then(() => woken.push(topic));
  wait('pages');
  wait('requests');
  const [pages, requests] = [commits.count('pages'), commits.count('requests')];
  commits.committed(new Set(['pages']));
  wait('requests', requests);
  await commits.after(pages, 'pages', forEver);
  await expect.poll(() => woken).toEqual(['pages']);
  commits.committed();
  await expect.poll(() => woken).toEqual(['pages', 'requests', 'requests']);
  wait('stopped');
  stop.abort();
  await expect.poll(() => woken).toEqual(['pages', 'requests', 'requests', 'stopped']);
});
