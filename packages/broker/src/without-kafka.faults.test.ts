import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { kafkaClassPath } from './jars.ts';
import { startKafkaBroker } from './kafka-broker.ts';
import { knownNodes } from './metadata-request.ts';
import { serverProperties } from './server-properties.ts';
import { whyNoKafkaBroker } from './why-no-kafka-broker.ts';

let room = '';
beforeEach(async () => {
  room = await mkdtemp(join(tmpdir(), 'headgate-without-kafka-'));
  await mkdir(join(room, 'bin'));
});
afterEach(async () => rm(room, { recursive: true }));

/** Returns an environment in which only the commands of `makeCommand` are found. */
function environment(): NodeJS.ProcessEnv {
  return { PATH: join(room, 'bin'), XDG_CACHE_HOME: join(room, 'cache') };
}

async function makeCommand(name: string, script: string): Promise<void> {
  await writeFile(join(room, 'bin', name), `#!/bin/sh\n${script}\n`);
  await chmod(join(room, 'bin', name), 0o755);
}

const javaSays = (version: string): string => `echo 'openjdk version "${version}" 2025-01-01' >&2`;

describe('why there is no broker', () => {
  test('no Java, or an old one', async () => {
    expect(await whyNoKafkaBroker(environment())).toBe(
      'Kafka needs Java 17 or newer, and java is missing. Install it, or set JAVA_HOME to its folder.',
    );
    await makeCommand('java', javaSays('1.8.0_402'));
    expect(await whyNoKafkaBroker(environment())).toContain('Kafka needs Java 17 or newer; java is openjdk version "1.8.0_402"');
    await expect(startKafkaBroker({ environment: environment() })).rejects.toMatchObject({ code: 'HEADGATE_KAFKA_BROKER' });
  });

  test('no Maven and no jars; either will do', async () => {
    await makeCommand('java', javaSays('21.0.4'));
    expect(await whyNoKafkaBroker(environment())).toContain("Maven (mvn) isn't installed");
    expect(await whyNoKafkaBroker({ ...environment(), HEADGATE_KAFKA_JARS: join(room, 'jars') })).toContain("isn't there");
    await mkdir(join(room, 'jars'));
    expect(await whyNoKafkaBroker({ ...environment(), HEADGATE_KAFKA_JARS: join(room, 'jars') })).toBeUndefined();
    // The named jars are of the default version.
    const jarsAlone = { ...environment(), HEADGATE_KAFKA_JARS: join(room, 'jars') };
    expect(await whyNoKafkaBroker(jarsAlone, '3.9.2')).toContain("Maven (mvn) isn't installed");
    await makeCommand('mvn', 'exit 0');
    expect(await whyNoKafkaBroker(environment())).toBeUndefined();
    expect(await whyNoKafkaBroker(environment(), '3.9.2')).toBeUndefined();
  });
});

test.each(['3.9.2', '4.3.1'] as const)("Maven's words come with the error, and nothing stays in the cache: Kafka %s", async (version) => {
  const printBroker = 'while read -r line; do case $line in *kafka_2.13*) echo "$line";; esac; done <pom.xml';
  await makeCommand('mvn', `echo '[ERROR] Could not transfer artifact'; ${printBroker}; exit 1`);
  const failing = kafkaClassPath(environment(), version);
  await expect(failing).rejects.toThrow(`Maven couldn't download Kafka ${version}:\n[ERROR] Could not transfer artifact\n`);
  await expect(failing).rejects.toThrow(`<artifactId>kafka_2.13</artifactId><version>${version}</version>`);
  expect(await readdir(join(room, 'cache', 'headgate'))).toEqual([]);
});

test('jars that were fetched elsewhere are taken in order', async () => {
  await Promise.all(['b.jar', 'a.jar', 'readme'].map(async (name) => writeFile(join(room, name), '')));
  const path = await kafkaClassPath({ ...environment(), HEADGATE_KAFKA_JARS: room }, '4.3.1');
  expect(path).toBe(`${join(room, 'a.jar')}:${join(room, 'b.jar')}`);
});

test('three nodes keep three replicas of which two must have a record; one keeps one', () => {
  const places = [1, 2, 3].map((id) => ({ id, port: 10 * id, controllerPort: 10 * id + 1 }));
  const lines = (count: number): readonly string[] => {
    const nodes = places.slice(0, count);
    const [node] = nodes;
    if (node === undefined) return [];
    return serverProperties(node, nodes, 'data', { 'num.io.threads': '5' }).split('\n');
  };
  expect(lines(3)).toEqual(
    expect.arrayContaining([
      'controller.quorum.voters=1@127.0.0.1:11,2@127.0.0.1:21,3@127.0.0.1:31',
      'transaction.state.log.replication.factor=3',
      'transaction.state.log.min.isr=2',
      'num.io.threads=5',
    ]),
  );
  expect(lines(1)).toEqual(expect.arrayContaining(['transaction.state.log.replication.factor=1', 'transaction.state.log.min.isr=1']));
});

test.each([
  { answer: Buffer.from([0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 9]), error: 'unreadable response' },
  { answer: undefined, error: 'closed the connection' },
])('something else that listens is no broker: $error', async ({ answer, error }) => {
  await using server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => (answer === undefined ? socket.end() : socket.write(answer)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await expect(knownNodes(`127.0.0.1:${(server.address() as AddressInfo).port}`)).rejects.toThrow(error);
});
