import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A client's certificate and key, and the certificate of an authority, as PEM texts. */
export interface ClientCertificates {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface Certificates {
  readonly client: ClientCertificates;
  /** A client whose certificate comes from an authority that the broker doesn't know. */
  readonly stranger: ClientCertificates;
  /** Path of the broker's key store. */
  readonly keyStore: string;
  readonly trustStore: string;
}

export async function haveOpenssl(): Promise<boolean> {
  return run('openssl', ['version']).then(
    () => true,
    () => false,
  );
}

/** Creates two authorities, and certificates for the broker at 127.0.0.1 and for two clients. They are valid for a day. */
export async function makeCertificates(folder: string): Promise<Certificates> {
  const [house, other] = await Promise.all([authority(folder, 'house'), authority(folder, 'other')]);
  const [broker, client, stranger] = await Promise.all([
    issue(folder, 'house', 'broker'),
    issue(folder, 'house', 'client'),
    issue(folder, 'other', 'stranger'),
  ]);
  const keyStore = join(folder, 'broker-store.pem');
  await writeFile(keyStore, broker.key + broker.cert);
  return { client: { ca: house, ...client }, stranger: { ca: other, ...stranger }, keyStore, trustStore: join(folder, 'house.crt') };
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

async function authority(folder: string, name: string): Promise<string> {
  const [key, crt] = [join(folder, `${name}.key`), join(folder, `${name}.crt`)];
  await run('openssl', ['req', '-x509', ...NEW_KEY, '-keyout', key, '-out', crt, '-days', '1', '-subj', `/CN=${name}`]);
  return await readFile(crt, 'utf8');
}

async function issue(folder: string, by: string, name: string): Promise<{ readonly cert: string; readonly key: string }> {
  const at = (end: string): string => join(folder, `${name}.${end}`);
  await writeFile(at('ext'), 'subjectAltName=IP:127.0.0.1\n');
  await run('openssl', ['req', ...NEW_KEY, '-keyout', at('key'), '-out', at('csr'), '-subj', `/CN=${name}`]);
  const signing = ['-CA', join(folder, `${by}.crt`), '-CAkey', join(folder, `${by}.key`), '-CAcreateserial', '-CAserial', at('srl')];
  await run('openssl', ['x509', '-req', '-in', at('csr'), ...signing, '-days', '1', '-extfile', at('ext'), '-out', at('crt')]);
  return { cert: await readFile(at('crt'), 'utf8'), key: await readFile(at('key'), 'utf8') };
}
