import type { SeriesParts } from '../../topic-log.ts';
import { LONG, type RecordWriter } from './record-writer.ts';
import { varintBytes, writeVarint } from './varint.ts';

export interface SeriesWriterOptions {
  /** The encoded key: its length, then its bytes. */
  readonly key: Uint8Array;
  readonly parts: SeriesParts;
  /** The encoded headers: their count, then each header. */
  readonly headers: Uint8Array;
}

/** Writes the records of a series, whose common bytes it encodes only once. */
export class SeriesWriter {
  readonly #key: Uint8Array;
  readonly #before: Uint8Array;
  readonly #partAt: SeriesParts['partAt'];
  readonly #afterBytes: number;
  /** The common end of the values, then the headers. */
  readonly #tail: Uint8Array;
  /** By length of the varying part: the encoded key, the length of the value, and the beginning of the value. */
  readonly #heads: Uint8Array[] = [];

  constructor({ key, parts, headers }: SeriesWriterOptions) {
    const after = Buffer.from(parts.after);
    this.#key = key;
    this.#before = Buffer.from(parts.before);
    this.#partAt = parts.partAt;
    this.#afterBytes = after.length;
    this.#tail = Buffer.concat([after, headers]);
  }

  /**
   * Appends the record at `index`. Returns false, and appends nothing, if the record's part is empty, longer than `LONG` or not ASCII. If the part is
   * empty or isn't ASCII, two halves of a surrogate pair can meet, so only the whole value can be encoded.
   */
  write(writer: RecordWriter, index: number, offsetDelta: number): boolean {
    const part = this.#partAt(index);
    const { length } = part;
    if (!(length > 0 && length <= LONG)) return false;
    return writer.alike(offsetDelta, (this.#heads[length] ??= this.#headFor(length)), part, this.#tail);
  }

  #headFor(partBytes: number): Uint8Array {
    const valueBytes = this.#before.length + partBytes + this.#afterBytes;
    const prefix = new Uint8Array(varintBytes(valueBytes));
    writeVarint(prefix, 0, valueBytes);
    return Buffer.concat([this.#key, prefix, this.#before]);
  }
}
