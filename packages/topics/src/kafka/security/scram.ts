import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

/** Hash of each mechanism, by Node's name and its bytes. */
const HASHES = { 'scram-sha-256': ['sha256', 32], 'scram-sha-512': ['sha512', 64] } as const;
/** RFC 7677, section 4. */
const MIN_ITERATIONS = 4_096;
/** No channel binding, no other identity. */
const GS2_HEADER = 'n,,';

export interface ScramOptions {
  readonly mechanism: keyof typeof HASHES;
  readonly username: string;
  /** A secret. */
  readonly password: string;
  /** Random. Default: a fresh one. */
  readonly nonce?: string;
}

/**
 * Authenticates by SCRAM (RFC 5802): both sides prove that they know the password, and neither sends it. Rejects with an `Error` if the broker
 * doesn't, or breaks the protocol.
 */
export async function scram(
  { mechanism, username, password, nonce = randomBytes(24).toString('base64url') }: ScramOptions,
  exchange: (message: Buffer) => Promise<Buffer>,
): Promise<void> {
  const [hash, bytes] = HASHES[mechanism];
  const hmac = (key: Buffer, text: string): Buffer => createHmac(hash, key).update(text).digest();
  const firstBare = `n=${username.replaceAll('=', '=3D').replaceAll(',', '=2C')},r=${nonce}`;
  const challenge = String(await exchange(Buffer.from(GS2_HEADER + firstBare)));
  const { r = '', s = '', i = '' } = attributes(challenge);
  if (!r.startsWith(nonce) || r === nonce) throw new Error('Invalid server nonce');
  if (!(Number(i) >= MIN_ITERATIONS)) throw new Error(`Only ${i} iterations, but at least ${MIN_ITERATIONS} are needed`);
  const salted = await promisify(pbkdf2)(password, Buffer.from(s, 'base64'), Number(i), bytes, hash);
  const finalBare = `c=${Buffer.from(GS2_HEADER).toString('base64')},r=${r}`;
  const signed = `${firstBare},${challenge},${finalBare}`;
  const clientKey = hmac(salted, 'Client Key');
  const signature = hmac(createHash(hash).update(clientKey).digest(), signed);
  const proof = Buffer.from(clientKey.map((byte, index) => byte ^ (signature[index] ?? 0))).toString('base64');
  const { v = '', e } = attributes(String(await exchange(Buffer.from(`${finalBare},p=${proof}`))));
  if (e !== undefined) throw new Error(e);
  const expected = hmac(hmac(salted, 'Server Key'), signed);
  const found = Buffer.from(v, 'base64');
  if (found.length !== expected.length || !timingSafeEqual(found, expected)) throw new Error('Invalid server signature');
}

/** Reads a message such as `r=…,s=…,i=4096`. */
function attributes(message: string): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(message.split(',').map((part) => [part.slice(0, 1), part.slice(2)]));
}
