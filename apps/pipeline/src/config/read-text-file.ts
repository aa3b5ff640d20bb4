import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** Thrown for an existing file without usable text. The message completes a sentence about the file. */
export class UnfitFileError extends Error {
  override readonly name = 'UnfitFileError';
  readonly code = 'HEADGATE_UNFIT_FILE';
  readonly retryable = false;
}

const CHUNK_BYTES = 65_536;
/** Interval between reads of a silent pipe, ms. A blocking read would occupy one of Node's threads until the pipe sends something. */
const POLL_MS = 20;

/**
 * Reads a file, or a pipe that another process writes to, as UTF-8 without its byte order mark. `silenceMs`: maximum time without data from a
 * pipe. Rejects with the system's error, or with an `UnfitFileError`, for example for a silent pipe or an endless device.
 */
export async function readTextFile(path: string, silenceMs = 5_000, maxBytes = 256 * 2 ** 20): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return textOf(await bytesOf(file, silenceMs, maxBytes));
  } finally {
    await file.close();
  }
}

async function bytesOf(file: FileHandle, silenceMs: number, maxBytes: number): Promise<Buffer> {
  const stat = await file.stat();
  if (stat.isFile() && stat.size > maxBytes) throw tooLarge(maxBytes);
  const chunks: Buffer[] = [];
  let bytes = 0;
  let spokeAtMs = performance.now();
  for (;;) {
    const chunk = await readChunk(file);
    if (chunk !== undefined && chunk.length > 0) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      spokeAtMs = performance.now();
      continue;
    }
    // A pipe that no writer has opened yet also reads as empty, so wait for its first bytes.
    if (chunk !== undefined && (bytes > 0 || !stat.isFIFO())) return Buffer.concat(chunks, bytes);
    if (performance.now() - spokeAtMs >= silenceMs)
      throw new UnfitFileError(
        `isn't a plain file, and sent nothing for ${silenceMs / 1000} s. Name a file, or a pipe that a process writes to.`,
      );
    await sleep(POLL_MS);
  }
}

/** The next bytes: empty at the end of the file; undefined if a pipe has none yet. */
async function readChunk(file: FileHandle): Promise<Buffer | undefined> {
  try {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(CHUNK_BYTES));
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return undefined;
    throw error;
  }
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

function tooLarge(maxBytes: number): UnfitFileError {
  return new UnfitFileError(`has more than ${Math.floor(maxBytes / 2 ** 20)} MiB, or is endless. Name a smaller file.`);
}
