import { varintBytes, writeVarint } from './varint.ts';

/** A buffer that grows as fields of records are appended. */
export class RecordWriter {
  #bytes: Buffer<ArrayBuffer>;
  #end = 0;
  /** Bytes reserved for the length of the next part: as many as the last part's length took, because most records are alike. */
  #prefix = 1;

  /** Overwrites `room` if it has at least `bytes` bytes; otherwise starts with a new buffer of `bytes` bytes. */
  constructor(bytes: number, room?: Buffer<ArrayBuffer>) {
    this.#bytes = room !== undefined && room.length >= bytes ? room : Buffer.allocUnsafeSlow(bytes);
  }

  get length(): number {
    return this.#end;
  }

  get room(): Buffer<ArrayBuffer> {
    return this.#bytes;
  }

  /** The written bytes up to `length`; not a copy. */
  written(length: number = this.#end): Buffer {
    return this.#bytes.subarray(0, length);
  }

  varint(value: number): void {
    this.#reserve(MAX_VARINT_BYTES);
    this.#end = writeVarint(this.#bytes, this.#end, value);
  }

  /** Writes a record's attributes and timestamp delta, both 0, in one byte each. */
  attributesAndTimestamp(): void {
    this.#reserve(2);
    this.#bytes[this.#end] = 0;
    this.#bytes[this.#end + 1] = 0;
    this.#end += 2;
  }

  /** Writes the length as a varint, then the bytes; text becomes UTF-8. null is the length -1. A lone surrogate becomes U+FFFD. */
  field(field: string | Uint8Array | null): void {
    if (field === null) {
      this.varint(-1);
    } else if (typeof field !== 'string') {
      this.#bytesAsTheyAre(field);
    } else if (field.length > LONG || !this.#shortAscii(field)) {
      this.#longText(field);
    }
  }

  /**
   * Appends a record whose value has a short varying `text` in the middle. `head` is the record from its key up to the text, and `tail` the rest
   * after it. Returns false, and appends nothing, if the text isn't ASCII.
   */
  alike(offsetDelta: number, head: Uint8Array, text: string, tail: Uint8Array): boolean {
    const length = 2 + varintBytes(offsetDelta) + head.length + text.length + tail.length;
    this.#reserve(MAX_VARINT_BYTES + length);
    const bytes = this.#bytes;
    let at = writeVarint(bytes, this.#end, length);
    // The attributes and the timestamp delta.
    bytes[at] = 0;
    bytes[at + 1] = 0;
    at = writeVarint(bytes, at + 2, offsetDelta);
    bytes.set(head, at);
    at += head.length;
    if (!writeAscii(bytes, at, text)) return false;
    at += text.length;
    bytes.set(tail, at);
    this.#end = at + tail.length;
    return true;
  }

  /** Begins a part that is preceded by its length. Returns the argument of `finish`. */
  begin(): number {
    this.#reserve(MAX_VARINT_BYTES);
    this.#end += this.#prefix;
    return this.#end;
  }

  /** Ends the part for which `begin` returned `start`: writes its length in front of it, as a varint. */
  finish(start: number): void {
    const length = this.#end - start;
    const prefix = varintBytes(length);
    const place = start - this.#prefix;
    if (prefix !== this.#prefix) {
      this.#reserve(MAX_VARINT_BYTES);
      this.#bytes.copyWithin(place + prefix, start, this.#end);
      this.#prefix = prefix;
      this.#end = place + prefix + length;
    }
    writeVarint(this.#bytes, place, length);
  }

  /** Returns false, and appends nothing, if a short text isn't ASCII. */
  #shortAscii(text: string): boolean {
    this.#reserve(MAX_VARINT_BYTES + text.length);
    const start = writeVarint(this.#bytes, this.#end, text.length);
    if (!writeAscii(this.#bytes, start, text)) return false;
    this.#end = start + text.length;
    return true;
  }

  /**
   * Writes the text as if it were ASCII, and corrects the space for its length afterwards if it wasn't. Counting its bytes first would take as
   * long as writing them.
   */
  #longText(text: string): void {
    this.#reserve(MAX_VARINT_BYTES + text.length + MAX_CHARACTER_BYTES);
    const guess = varintBytes(text.length);
    const start = this.#end + guess;
    let length = this.#bytes.write(text, start, 'utf8');
    if (start + length > this.#bytes.length - MAX_CHARACTER_BYTES) {
      // The text may have been cut off at the end of the buffer.
      this.#reserve(MAX_VARINT_BYTES + Buffer.byteLength(text));
      length = this.#bytes.write(text, start, 'utf8');
    }
    const prefix = varintBytes(length);
    if (prefix !== guess) this.#bytes.copyWithin(this.#end + prefix, start, start + length);
    writeVarint(this.#bytes, this.#end, length);
    this.#end += prefix + length;
  }

  #bytesAsTheyAre(bytes: Uint8Array): void {
    this.#reserve(MAX_VARINT_BYTES + bytes.length);
    const start = writeVarint(this.#bytes, this.#end, bytes.length);
    this.#bytes.set(bytes, start);
    this.#end = start + bytes.length;
  }

  #reserve(more: number): void {
    const needed = this.#end + more;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
  }
}

/** Writes a short text character by character, which is faster than a call into native code. Returns false if the text isn't ASCII. */
function writeAscii(bytes: Uint8Array, start: number, text: string): boolean {
  let seen = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    seen |= character;
    bytes[start + at] = character;
  }
  return seen <= 0x7f;
}

const MAX_VARINT_BYTES = 5;
const MAX_CHARACTER_BYTES = 4;
/** Maximum characters of a short text. For a longer one, a call into native code is faster than a loop in JavaScript. */
export const LONG = 32;
