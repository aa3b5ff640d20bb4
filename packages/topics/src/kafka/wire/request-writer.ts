/**
 * Writes the body of a request (Kafka protocol, "Protocol Primitive Types"). In a flexible version, lengths are compact, and tagged fields
 * follow each structure.
 */
export class RequestWriter {
  readonly #flexible: boolean;
  readonly #pieces: Buffer[] = [];
  /** Buffer of primitives. Those that aren't in `#pieces` yet lie from `#start` to `#end`. */
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #start = 0;
  #end = 0;

  constructor(flexible: boolean) {
    this.#flexible = flexible;
  }

  get pieces(): readonly Buffer[] {
    this.#cut();
    return this.#pieces;
  }

  uint8(value: number): this {
    this.#end = this.#room(1).writeUInt8(value, this.#end);
    return this;
  }

  boolean(value: boolean): this {
    return this.uint8(value ? 1 : 0);
  }

  int16(value: number): this {
    this.#end = this.#room(2).writeInt16BE(value, this.#end);
    return this;
  }

  int32(value: number): this {
    this.#end = this.#room(4).writeInt32BE(value, this.#end);
    return this;
  }

  /** A whole number, as text if it may exceed JavaScript's safe range. */
  int64(value: number | string): this {
    this.#end = this.#room(8).writeBigInt64BE(BigInt(value), this.#end);
    return this;
  }

  /** Writes a string. Pass null only for a field that the protocol declares nullable. */
  string(value: string | null): this {
    if (value === null) return this.#flexible ? this.#unsignedVarint(0) : this.int16(-1);
    const length = Buffer.byteLength(value);
    if (this.#flexible) this.#unsignedVarint(length + 1);
    else this.int16(length);
    // Call `#room` before the next statement, because it can move `#end`: `+=` reads `#end` before it calls `write`.
    const bytes = this.#room(length);
    this.#end += bytes.write(value, this.#end);
    return this;
  }

  /** Writes the number of items, then each item. Pass null only for a field that the protocol declares nullable. */
  array<Item>(items: readonly Item[] | null, write: (item: Item) => void): this {
    this.#length(items?.length ?? -1);
    for (const item of items ?? []) write(item);
    return this;
  }

  /** Adds a field of bytes without copying `pieces`, which must not change until the request is answered. */
  bytes(pieces: readonly Buffer[]): this {
    this.#length(pieces.reduce((sum, { length }) => sum + length, 0));
    this.#cut();
    this.#pieces.push(...pieces);
    return this;
  }

  /** Ends a structure. In a flexible version, it writes that no tagged fields follow. */
  tags(): this {
    return this.#flexible ? this.#unsignedVarint(0) : this;
  }

  #length(length: number): void {
    if (this.#flexible) this.#unsignedVarint(length + 1);
    else this.int32(length);
  }

  #unsignedVarint(value: number): this {
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) this.uint8((rest & 0x7f) | 0x80);
    return this.uint8(rest);
  }

  #cut(): void {
    if (this.#end > this.#start) this.#pieces.push(this.#bytes.subarray(this.#start, this.#end));
    this.#start = this.#end;
  }

  /** Returns the buffer with space for `more` bytes after `#end`. If the buffer must grow, `#start` and `#end` move. */
  #room(more: number): Buffer {
    if (this.#end + more > this.#bytes.length) {
      const begun = this.#bytes.subarray(this.#start, this.#end);
      this.#bytes = Buffer.allocUnsafe(Math.max(FIRST_BYTES, 2 * (begun.length + more)));
      begun.copy(this.#bytes);
      this.#start = 0;
      this.#end = begun.length;
    }
    return this.#bytes;
  }
}

const FIRST_BYTES = 256;
