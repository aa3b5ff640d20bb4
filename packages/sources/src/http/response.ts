import { isUtf8 } from 'node:buffer';
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib';

/** One HTTP response with its complete body. */
export interface HttpResponse {
  /** Status code, such as 200. */
  readonly status: number;
  /** Names in lowercase; values of a repeated header are joined with ', '. */
  readonly headers: Readonly<Record<string, string>>;
  /** The decoded body. */
  readonly body: Buffer;
}

/** The content encodings that requests ask for. */
export const ACCEPT_ENCODING: string = 'gzip, br';

/**
 * Decodes a body's content encodings, the last one first. Stops at `maxBytes`, so that a compression bomb can't fill the memory. Text that is
 * labelled as compressed, or with an encoding that doesn't exist, such as `UTF-8`, stays as it is. Rejects with an error whose message
 * describes the cause. `encoding`: the `content-encoding` header, if there is one. `maxBytes`: maximum decoded bytes.
 */
export function decodedBody(raw: Buffer, encoding: string | undefined, maxBytes: number): Buffer | Promise<Buffer> {
  const names = (encoding ?? '').split(',').map((name) => name.trim());
  const applied = names.filter((name) => !/^(?:|identity)$/i.test(name)).reverse();
  return applied.length === 0 || raw.length === 0 ? raw : decodedBy(applied, raw, maxBytes);
}

type Decode = (
  raw: Buffer,
  options: { readonly maxOutputLength: number },
  done: (error: NodeJS.ErrnoException | null, body: Buffer) => void,
) => void;

const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ['gzip', gunzip],
  ['x-gzip', gunzip],
  ['br', brotliDecompress],
  ['zstd', zstdDecompress],
  // Some services send the bare DEFLATE of RFC 1951 under this name, without the header of zlib.
  ['deflate', (raw, options, done) => (((raw[0] ?? 0) & 0x0f) === 8 ? inflate : inflateRaw)(raw, options, done)],
]);

async function decodedBy(names: readonly string[], raw: Buffer, maxOutputLength: number): Promise<Buffer> {
  let body = raw;
  for (const name of names) {
    const decode = DECODERS.get(name.toLowerCase());
    // Quotes the encoding in its original case, so that redaction can decode a secret in it, such as one in base64.
    if (decode === undefined && !isUtf8(body)) throw new Error(`unknown content-encoding ${JSON.stringify(name.slice(0, 40))}`);
    if (decode === undefined) continue;
    try {
      body = await new Promise<Buffer>((resolve, reject) => {
        decode(body, { maxOutputLength }, (error, decoded) => (error === null ? resolve(decoded) : reject(error)));
      });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
        throw new Error(oversizeReason(maxOutputLength), { cause: error });
      // No compressed body begins with valid UTF-8, so it isn't one.
      if (!isUtf8(body)) throw new Error(`its ${name.toLowerCase()} body is damaged or incomplete`, { cause: error });
    }
  }
  return body;
}

/** Returns the message for a body over the limit. */
export function oversizeReason(maxBytes: number): string {
  return `its body exceeds the limit of ${maxBytes.toLocaleString('en-US')} bytes (maxBodyBytes)`;
}
