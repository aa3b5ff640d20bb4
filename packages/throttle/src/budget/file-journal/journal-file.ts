import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Writes from the start; appends also follow a truncation. */
const FRESH = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_APPEND;

/** A file of lines. An append is durable when it resolves; one that fails leaves no partial line before the next one. */
export class JournalFile {
  readonly #file: string;
  #handle: FileHandle;
  /** Bytes that are durable, or nearly so: a failed append may have left more. */
  #length: number;
  #isClean = true;
  /** True if the folder holds the file's name durably; before that, a power cut may restore the earlier file. */
  #isNamed = false;

  private constructor(file: string, { handle, length }: Written) {
    this.#file = file;
    this.#handle = handle;
    this.#length = length;
  }

  /** Replaces what is there by `text`. The folder must be there. */
  static async replace(file: string, text: string): Promise<JournalFile> {
    const journal = new JournalFile(file, await replaced(file, text));
    try {
      await journal.#nameDurably();
      return journal;
    } catch (error) {
      await journal.close();
      throw error;
    }
  }

  async append(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    if (!this.#isClean) await this.#handle.truncate(this.#length);
    await this.#nameDurably();
    this.#isClean = false;
    await this.#handle.appendFile(bytes);
    await this.#handle.datasync();
    this.#length += bytes.length;
    this.#isClean = true;
  }

  /** Replaces the content. If it fails, later appends continue the old content. */
  async replace(text: string): Promise<void> {
    const { handle, length } = await replaced(this.#file, text);
    const former = this.#handle;
    this.#handle = handle;
    this.#length = length;
    this.#isClean = true;
    this.#isNamed = false;
    await former.close();
    await this.#nameDurably();
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  async #nameDurably(): Promise<void> {
    if (this.#isNamed) return;
    await syncFolder(dirname(this.#file));
    this.#isNamed = true;
  }
}

/** Creates a missing folder of a file, durably, for its owner only. */
export async function makeFolder(file: string): Promise<void> {
  const folder = dirname(file);
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
}

interface Written {
  readonly handle: FileHandle;
  readonly length: number;
}

/** The text is durable under another name before it takes the file's own. */
async function replaced(file: string, text: string): Promise<Written> {
  const bytes = Buffer.from(text);
  const handle = await open(`${file}.new`, FRESH, 0o600);
  try {
    await handle.appendFile(bytes);
    await handle.datasync();
    await rename(`${file}.new`, file);
    return { handle, length: bytes.length };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Windows makes names durable automatically, and can't open a folder. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
