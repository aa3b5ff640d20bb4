import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type KafkaBroker, startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Certificates, haveOpenssl, makeCertificates } from './certificates.fixture.ts';
import { roundTrip } from './round-trip.fixture.ts';
import { PASSWORD, USER, tlsBrokerOptions } from './secure-broker.fixture.ts';
import { type SecureLogOptions, refusal, secureLog } from './secure-log.fixture.ts';

const why = (await whyNoKafkaBroker()) ?? ((await haveOpenssl()) ? undefined : 'there is no openssl to make certificates with.');

type Connection = Omit<SecureLogOptions, 'broker'>;

describe.skipIf(why !== undefined)(`the Kafka driver over TLS${why === undefined ? '' : `: skipped, ${why}`}`, () => {
  let folder: string;
  let broker: KafkaBroker;
  let certificates: Certificates;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headgate-tls-'));
    certificates = await makeCertificates(folder);
    broker = await startKafkaBroker(tlsBrokerOptions(certificates));
  });
  afterAll(async () => {
    await broker?.close();
    await rm(folder, { recursive: true, force: true });
  });

  it.each<{ way: string; connection: (given: Certificates) => Connection }>([
    { way: 'with an authority of our own', connection: ({ client: { ca } }) => ({ listener: 'TLS', ssl: { ca } }) },
    { way: 'with a certificate of the client', connection: ({ client }) => ({ listener: 'MUTUAL', ssl: client }) },
    {
      way: 'and a password',
      connection: ({ client: { ca } }) => ({
        listener: 'SASL',
        ssl: { ca },
        sasl: { mechanism: 'plain', username: USER, password: PASSWORD },
      }),
    },
  ])('writes and reads $way', async ({ connection }) => {
    await using log = await secureLog({ broker, ...connection(certificates) });
    expect(await roundTrip(log)).toEqual({ values: ['written'], state: '1' });
  });

  it.each<{ fault: string; connection: (given: Certificates) => Connection; says: string | RegExp }>([
    {
      fault: "the broker's certificate is of another authority",
      connection: ({ stranger: { ca } }) => ({ listener: 'TLS', ssl: { ca } }),
      says: /unable to verify the first certificate.* certificate authority signed .*, set ssl: \{ ca \}\.$/u,
    },
    {
      fault: 'the authority is not named',
      connection: () => ({ listener: 'TLS', ssl: true }),
      says: /unable to verify the first certificate.* certificate authority signed .*, set ssl: \{ ca \}\.$/u,
    },
    {
      fault: 'the client has no certificate',
      connection: ({ client: { ca } }) => ({ listener: 'MUTUAL', ssl: { ca } }),
      says: /alert (?:bad certificate|certificate required)/,
    },
    {
      fault: "the client's certificate is of another authority",
      connection: ({ client: { ca }, stranger }) => ({ listener: 'MUTUAL', ssl: { ...stranger, ca } }),
      says: /alert (?:certificate unknown|unknown ca)/,
    },
    {
      fault: 'the key belongs to another certificate',
      connection: ({ client, stranger: { key } }) => ({ listener: 'MUTUAL', ssl: { ...client, key } }),
      says: 'key values mismatch',
    },
    {
      fault: 'the client speaks without TLS',
      connection: () => ({ listener: 'TLS' }),
      says: /Closed connection\. If it is a TLS port, set ssl\./u,
    },
    {
      fault: 'the brokers speak without TLS',
      connection: () => ({ listener: 'PLAIN', ssl: true }),
      says: /before secure TLS connection was established\. If the brokers don't use TLS at this address, remove ssl/u,
    },
    {
      fault: 'the password is wrong',
      connection: ({ client: { ca } }) => ({
        listener: 'SASL',
        ssl: { ca },
        sasl: { mechanism: 'plain', username: USER, password: 'not-the-one' },
      }),
      says: 'Invalid username or password',
    },
  ])('reports what is wrong when $fault', async ({ connection, says }) => {
    const { message, printed } = await refusal({ broker, ...connection(certificates) });
    expect(message).toMatch(says);
    expect(printed).not.toMatch(/PRIVATE KEY|not-the-one/);
  });
});
