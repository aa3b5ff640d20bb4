import { brotliDecompress, gunzip } from 'node:zlib';

/** One HTTP response with its complete body. */
export interface HttpResponse {
  /** Status code, such as 200. */
  readonly status: number;
  /** Names in lowercase; values of a repeated header are joined with ', '. */
  readonly headers: Readonly<Record<string, string>>;
  /** The decoded body. */
  readonly body: Buffer;
}

/** The content encodings that requests accept and this package decodes. */
export const ACCEPT_ENCODING: string = 'gzip, br';

export interface DecodedBodyOptions {
  /** The body as received. */
  readonly raw: Buffer;
  /** The `content-encoding` header, if there is one. */
  readonly encoding: string | undefined;
  /** Maximum decoded bytes. */
  readonly maxBytes: number;
}

/**
 * Decodes a body's content encoding, if it has one. Stops at `maxBytes`, so that a compression bomb can't fill the memory. Rejects with an
 * error whose message describes the cause.
 */
export function decodedBody({ raw, encoding = 'identity', maxBytes }: DecodedBodyOptions): Buffer | Promise<Buffer> {
  const name = encoding.trim().toLowerCase();
  if (name === '' || name === 'identity' || raw.length === 0) return raw;
  return new Promise((resolve, reject) => {
    const options = { maxOutputLength: maxBytes };
    const done = (error: NodeJS.ErrnoException | null, body: Buffer): void => {
      if (error === null) resolve(body);
      else if (error.code === 'ERR_BUFFER_TOO_LARGE') reject(new Error(oversizeReason(maxBytes)));
      else reject(new Error(`its ${name} body is damaged or incomplete`));
    };
    if (name === 'gzip' || name === 'x-gzip') gunzip(raw, options, done);
    else if (name === 'br') brotliDecompress(raw, options, done);
    // Quotes the encoding in its original case, so that redaction can decode a secret in it, such as one in base64.
    else reject(new Error(`unknown content-encoding ${JSON.stringify(encoding.trim().slice(0, 40))}`));
  });
}

/** Returns the message for a body over the limit. */
export function oversizeReason(maxBytes: number): string {
  return `its body exceeds the limit of ${maxBytes.toLocaleString('en-US')} bytes (maxBodyBytes)`;
}
