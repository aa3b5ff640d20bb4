/**
 * Bytes that a codec of our own takes as they are. kafkajs would copy a batch, half a megabyte, into a buffer of its own before it calls the
 * codec: it is given a token instead, and the codec finds the batch by that.
 */
const buffers = new Map<string, Buffer>();
const TOKEN_BYTES = 16;
let lastToken = 0;

/** The token that stands for `bytes` until `releaseBuffer` is called with it. */
export function registerBuffer(bytes: Buffer): Buffer {
  const token = Buffer.alloc(TOKEN_BYTES);
  token.write('headgate');
  lastToken += 1;
  token.writeDoubleBE(lastToken, 8);
  buffers.set(token.toString('latin1'), bytes);
  return token;
}

/** The buffer that a token stands for, or `bytes` where it isn't a token. */
export function registeredBuffer(bytes: Buffer): Buffer {
  return bytes.length === TOKEN_BYTES ? (buffers.get(bytes.toString('latin1')) ?? bytes) : bytes;
}

export function releaseBuffer(token: Buffer): void {
  buffers.delete(token.toString('latin1'));
}
