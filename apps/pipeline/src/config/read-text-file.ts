import { createReadStream } from 'node:fs';
import { buffer } from 'node:stream/consumers';

/** Thrown for an existing file without usable text. The message completes a sentence about the file. */
export class UnfitFileError extends Error {
  override readonly name = 'UnfitFileError';
  readonly code = 'HEADGATE_UNFIT_FILE';
  readonly retryable = false;
}

/**
 * Reads a file, or a pipe that another process writes to, as UTF-8 without its byte order mark. Waits for a silent pipe. Rejects with the system's
 * error, or with an `UnfitFileError`, for example for an endless device.
 */
export async function readTextFile(path: string, maxBytes = 256 * 2 ** 20): Promise<string> {
  const bytes = await buffer(createReadStream(path, { end: maxBytes }));
  if (bytes.length > maxBytes)
    throw new UnfitFileError(`has more than ${Math.floor(maxBytes / 2 ** 20)} MiB, or is endless. Name a smaller file.`);
  return textOf(bytes);
}

function textOf(bytes: Buffer): string {
  if (isUtf16(bytes)) throw new UnfitFileError('is UTF-16. Save it as UTF-8.');
  return bytes.toString('utf8').replace(/^\uFEFF/, '');
}

/** Detects UTF-16 by its byte order mark, or without one by the zeros next to the first two letters. */
function isUtf16([first, second, third, fourth]: Buffer): boolean {
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true;
  return (first === 0) !== (second === 0) && (first === 0) === (third === 0) && (second === 0) === (fourth === 0);
}
