import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtempDisposable, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';

import { describe, expect, test, vi } from 'vitest';

import { layOutCluster } from './cluster.ts';
import { runCommand } from './command.ts';
import { defaultVersion, kafkaClassPath } from './jars.ts';
import { findJava } from './java.ts';
import { startKafkaBroker } from './kafka-broker.ts';
import type { KafkaBroker } from './kafka-broker.ts';
import { knownNodes } from './metadata-request.ts';
import { whyNoKafkaBroker } from './why-no-kafka-broker.ts';

const reason = await whyNoKafkaBroker();
const java = await findJava(process.env);
const javaCommand = typeof java === 'string' ? '' : java.command;

describe.skipIf(reason !== undefined)(`a broker of Kafka${reason === undefined ? '' : ` (skipped: ${reason})`}`, () => {
  test('one node keeps its address and its records over a kill, and leaves nothing', async () => {
    await using broker = await startKafkaBroker({ settings: { 'auto.create.topics.enable': 'true' } });
    const [node] = broker.nodes;
    if (node?.pid === undefined) throw new Error('The node does not run.');
    expect(broker.brokers).toEqual([node.address]);
    expect(await knownNodes(node.address)).toEqual([1]);
    await produce(broker, 'before the kill');

    const first = node.pid;
    await node.kill();
    expect(node.pid).toBeUndefined();
    expect(isRunning(first)).toBe(false);
    await expect(knownNodes(node.address)).rejects.toThrow('ECONNREFUSED');

    await node.start();
    const second = node.pid;
    expect(second).not.toBe(first);
    expect(await knownNodes(node.address)).toEqual([1]);
    expect(await consumeOne(broker)).toContain('before the kill');

    await broker.close();
    await broker.close();
    expect(isRunning(second)).toBe(false);
    expect(existsSync(broker.folder)).toBe(false);
  });

  test('a frozen node does not respond until it continues, and can be killed', async () => {
    await using broker = await startKafkaBroker();
    const [node] = broker.nodes;
    if (node === undefined) throw new Error('There is no node.');
    node.pause();
    // The signal may take a moment to reach the node.
    await expect.poll(async () => await knownNodes(node.address).catch(String)).toContain("didn't respond");
    node.resume();
    // The controller may have fenced the broker in the meantime. Then the node lists no broker until the broker's next heartbeat.
    await expect.poll(async () => await knownNodes(node.address).catch(String)).toEqual([1]);
    node.pause();
    await node.kill();
    expect(() => node.pause()).toThrow("Kafka node 1 isn't running");
  });

  test('three nodes know each other, and the one that comes back', async () => {
    await using broker = await startKafkaBroker({ nodes: 3 });
    for (const address of broker.brokers) expect([...(await knownNodes(address))].sort()).toEqual([1, 2, 3]);
    const [node, other] = broker.nodes;
    if (node === undefined || other === undefined) throw new Error('There are too few nodes.');
    await node.kill();
    await vi.waitFor(async () => expect(await knownNodes(other.address)).not.toContain(1), { timeout: 240_000, interval: 200 });
    await node.start();
    expect(await knownNodes(other.address)).toContain(1);
  });

  test('the jars may be below a folder with letters beyond ASCII, whatever the locale', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'headgate-漢字 #% é-'));
    const [jar = ''] = (await kafkaClassPath(process.env, defaultVersion)).split(':');
    await symlink(dirname(jar), join(folder.path, 'jars'));
    const environment = { ...process.env, HEADGATE_KAFKA_JARS: join(folder.path, 'jars'), XDG_CACHE_HOME: folder.path, LC_ALL: 'C' };
    await using broker = await startKafkaBroker({ environment });
    expect(broker.jars).toContain('漢字');
  });

  test('a node that cannot start says why', async () => {
    const start = startKafkaBroker({ settings: { 'log.retention.hours': 'never' } });
    await expect(start).rejects.toThrow(/Kafka node 1 at 127\.0\.0\.1:\d+ ended while it started:\n[^]*log\.retention\.hours/u);
    await expect(start).rejects.toMatchObject({ code: 'HEADGATE_KAFKA_BROKER' });
  });

  test('a node whose port another cluster has taken meanwhile is not ready', async () => {
    await using broker = await startKafkaBroker();
    const folder = join(broker.folder, 'other');
    const bootstrapCheckpoint = join(broker.folder, 'bootstrap.checkpoint');
    await writeFile(bootstrapCheckpoint, '');
    const port = Number(broker.nodes[0]?.address.split(':')[1]);
    const rest = { settings: {}, folder, environment: process.env, readyWithinMs: 1_000 };
    // `tail -f` keeps running, but doesn't listen on the port.
    const [node] = await layOutCluster({ ...rest, size: 1, port, bootstrapCheckpoint, command: ['tail', '-f'] });
    await expect(node?.start()).rejects.toThrow(`Kafka node 1 at 127.0.0.1:${port} was not ready after 1 s`);
  });

  test.concurrent.each([
    { way: 'is killed', before: '', signal: 'SIGKILL' },
    { way: 'is killed while the node is down', before: 'await node.kill();', signal: 'SIGKILL' },
    { way: 'is killed while the node is frozen', before: 'node.pause();', signal: 'SIGKILL' },
    { way: 'gets SIGTERM', before: '', signal: 'SIGTERM' },
    { way: 'gets SIGINT', before: '', signal: 'SIGINT' },
    { way: 'exits', before: 'setTimeout(() => process.exit(), 100);', signal: undefined },
    { way: 'comes to its end without closing', before: 'process.stdin.unref();', signal: undefined },
  ] as const)('ends when the process that started it $way', async ({ before, signal }) => {
    const parent = spawn(process.execPath, ['--input-type=module', '--eval', parentScript(before)], { stdio: ['pipe', 'pipe', 'inherit'] });
    const exit = once(parent, 'exit');
    const [line] = (await once(createInterface(parent.stdout), 'line')) as [string];
    const { folder, pid } = JSON.parse(line) as { folder: string; pid: number };
    expect(existsSync(folder)).toBe(true);
    if (signal !== undefined) parent.kill(signal);
    await exit;
    await vi.waitFor(() => expect(isRunning(pid)).toBe(false), { timeout: 240_000, interval: 50 });
    await vi.waitFor(() => expect(existsSync(folder)).toBe(false), { timeout: 240_000, interval: 100 });
  });
});

/**
 * Returns the script of a process that starts a broker. It prints the folder and the process ID that must be gone after the process has
 * ended.
 */
function parentScript(before: string): string {
  return `
    import { startKafkaBroker } from ${JSON.stringify(new URL('kafka-broker.ts', import.meta.url))};
    const { folder, nodes: [node] } = await startKafkaBroker();
    const { pid } = node;
    process.stdin.resume();
    ${before}
    process.stdout.write(JSON.stringify({ folder, pid }) + '\\n');
  `;
}

async function produce(broker: KafkaBroker, value: string): Promise<void> {
  const producer = spawn(javaCommand, toolArguments(broker, 'ConsoleProducer'));
  producer.stdin.end(`${value}\n`);
  expect(await once(producer, 'exit')).toEqual([0, null]);
}

async function consumeOne(broker: KafkaBroker): Promise<readonly string[]> {
  const consumer = toolArguments(broker, 'consumer.ConsoleConsumer', '--from-beginning', '--max-messages', '1', '--timeout-ms', '30000');
  const { output } = await runCommand(javaCommand, consumer, { environment: process.env });
  return output.split('\n');
}

function toolArguments(broker: KafkaBroker, tool: string, ...more: readonly string[]): readonly string[] {
  const servers = broker.brokers.join(',');
  return ['-cp', broker.jars, `org.apache.kafka.tools.${tool}`, '--topic', 'records', '--bootstrap-server', servers, ...more];
}

function isRunning(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
