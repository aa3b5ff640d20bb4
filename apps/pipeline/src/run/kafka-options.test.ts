import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer } from 'node:tls';
import { inspect, promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import type { KafkaTopicsConfig } from '../config/topics-section.ts';
import { kafkaOptions } from './kafka-options.ts';

const CONFIG: KafkaTopicsConfig = {
  driver: 'kafka',
  brokers: ['127.0.0.1:9092'],
  clientId: 'client',
  group: 'group',
  lanes: 2,
  replication: 1,
  settings: {},
  compression: 'zstd',
  ssl: false,
  prefix: '',
  names: {},
};

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-kafka-options-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function tokenOf(sasl: KafkaTopicsConfig['sasl']): Promise<unknown> {
  const { sasl: options } = kafkaOptions({ ...CONFIG, ...(sasl !== undefined && { sasl }) });
  if (options?.mechanism !== 'oauthbearer') throw new Error('There is no provider of tokens.');
  return await options.oauthBearerProvider();
}

test('without security', () => {
  const { brokers, clientId, replication, compression } = CONFIG;
  expect(kafkaOptions(CONFIG)).toEqual({ brokers, clientId, replication, topicSettings: {}, compression, ssl: false });
  expect(kafkaOptions({ ...CONFIG, ssl: true })).toMatchObject({ ssl: true });
});

test('settings of topics, by their names in the log', () => {
  const [retention, segment] = [{ 'retention.ms': '1' }, { 'segment.ms': '2' }];
  const settings = { 'github.issues': retention, 'github.pulls': segment };
  const { topicSettings } = kafkaOptions({ ...CONFIG, settings, prefix: 'prod.', names: { 'github.pulls': 'pulls' } });
  expect(topicSettings).toEqual({ 'prod.github.issues': retention, pulls: segment });
});

test('a password is there for who asks for it, and not printed', () => {
  const options = kafkaOptions({ ...CONFIG, sasl: { mechanism: 'scram-sha-512', username: 'alice', password: () => 'secret-1' } });
  const { mechanism, username, password } = options.sasl?.mechanism === 'scram-sha-512' ? options.sasl : {};
  expect([mechanism, username, password]).toEqual(['scram-sha-512', 'alice', 'secret-1']);
  expect(inspect(options, { depth: null }) + inspect(options, { depth: null, showHidden: true }) + JSON.stringify(options)).not.toContain(
    'secret-1',
  );
});

test('a token of the configuration, which will not be renewed', async () => {
  expect(await tokenOf({ mechanism: 'oauthbearer', token: () => 'a.b.c' })).toEqual({ value: 'a.b.c' });
});

test('a token of a file is read whenever it is asked for', async () => {
  const tokenFile = join(await temporaryFolder(), 'token');
  const sasl = { mechanism: 'oauthbearer', tokenFile } as const;
  await expect(tokenOf(sasl)).rejects.toMatchObject({
    message: expect.stringMatching(/^topics\.sasl\.tokenFile: \S+ doesn't exist\./),
    retryable: true,
  });
  await writeFile(tokenFile, 'first\n');
  const { sasl: options } = kafkaOptions({ ...CONFIG, sasl });
  const ask = async (): Promise<unknown> => (options?.mechanism === 'oauthbearer' ? await options.oauthBearerProvider() : undefined);
  const renewedIn = `${tokenFile} (topics.sasl.tokenFile)`;
  expect(await ask()).toEqual({ value: 'first', renewedIn });
  await writeFile(tokenFile, 'second');
  expect(await ask()).toEqual({ value: 'second', renewedIn });
  await writeFile(tokenFile, '\n');
  await expect(ask()).rejects.toThrow('is empty');
});

const openssl = promisify(execFile);
const haveOpenssl = await openssl('openssl', ['version']).then(
  () => true,
  () => false,
);

test.skipIf(!haveOpenssl)('certificates and a key, which are shown to the other side and not printed', async () => {
  const folder = await temporaryFolder();
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const making = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1', '-subj', '/CN=alice'];
  await openssl('openssl', [...making, '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', keyFile, '-out', certFile]);
  const [key, cert] = [await readFile(keyFile, 'utf8'), await readFile(certFile, 'utf8')];
  const options = kafkaOptions({ ...CONFIG, ssl: { ca: cert, cert, key: () => key } });
  expect(inspect(options, { depth: null }) + JSON.stringify(options)).not.toContain(key.split('\n')[1]);

  await using server = createServer({ key, cert, ca: cert, requestCert: true, rejectUnauthorized: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const ssl = typeof options.ssl === 'object' ? options.ssl : {};
  // Connects as kafkajs does.
  const socket = connect(Object.assign({ host: '127.0.0.1', port }, ssl));
  const [accepted] = await once(server, 'secureConnection');
  expect(accepted.authorized).toBe(true);
  expect(accepted.getPeerCertificate().subject.CN).toBe('alice');
  if (!socket.authorized) await once(socket, 'secureConnect');
  expect(socket.authorized).toBe(true);
  socket.destroy();
  accepted.destroy();
});

test('a key that is none is an error of connecting, not of the options', () => {
  const { ssl } = kafkaOptions({ ...CONFIG, ssl: { cert: 'none', key: () => 'secret-2' } });
  const connecting = (): unknown => Object.assign({}, ssl);
  expect(connecting).toThrow(/^(?!.*secret-2)/);
});
