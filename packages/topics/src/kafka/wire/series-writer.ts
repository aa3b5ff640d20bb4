import type { SeriesParts } from '../../topic-log.ts';
import { LONG, type RecordWriter } from './record-writer.ts';
import { varintBytes, writeVarint } from './varint.ts';

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

  /** `key`: the encoded key, its length and its bytes. `headers`: the encoded headers, their count and each header. */
  constructor(key: Uint8Array, parts: SeriesParts, headers: Uint8Array) {
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
