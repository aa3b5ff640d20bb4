import { USAGE_QUESTION, type Usage } from './usage.ts';

// Loaded before a program by --import: the parent can ask for the process's usage, and the program knows nothing of it.
process.on('message', (message) => {
  if (message !== USAGE_QUESTION) return;
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  process.send?.({ cpuMs: (userCPUTime + systemCPUTime) / 1_000, peakBytes: maxRSS * 1_024 } satisfies Usage);
});
// A program that has come to its end ends; and none outlives its parent.
process.channel?.unref();
process.on('disconnect', () => process.exit(1));
