import { writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Member } from './member.ts';
import { quietCluster } from './quiet-kafka.fixture.ts';

/**
 * A process that joins a group, prints each assignment as `assigned <ms since the epoch> <partitions>`, and leaves when its stdin ends. With
 * `measureMs`, it also prints the CPU time while idle, in ms per second.
 */
const [broker = '', group = '', topic = '', agreement = '', measureMs = '0'] = process.argv.slice(2);
process.on('warning', ({ name }) => say(`warning ${name}`));

const stdinEnded = new Promise((resolve) => process.stdin.once('end', resolve));
process.stdin.resume();
const membership = new Member({
  log: quietCluster([broker]),
  cluster: () => quietCluster([broker]),
  group,
  topics: [topic],
  agreement,
  sessionTimeoutMs: 6_000,
  onUncertain: () => say(`assigned ${Date.now()} `),
  onAssigned: (partitions) => say(`assigned ${Date.now()} ${partitions.map(({ partition }) => partition).join(',')}`),
  onFailed: (error) => say(`failed ${'code' in error ? String(error.code) : error.name}`),
});
await membership.joined.catch((error: unknown) => {
  say(`refused ${error instanceof Error && 'code' in error ? String(error.code) : String(error)}`);
  process.exit();
});
say(`joined ${membership.memberId}`);
if (Number(measureMs) > 0) {
  await pause(1_000);
  const before = process.cpuUsage();
  await pause(Number(measureMs));
  const { user, system } = process.cpuUsage(before);
  say(`idle ${(user + system) / Number(measureMs)}`);
}
await stdinEnded;
await membership.leave();
say('left');

function say(line: string): void {
  writeSync(1, `${line}\n`);
}
