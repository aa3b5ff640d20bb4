const UUID_BYTES = 16;
const NO_UUID = Buffer.alloc(UUID_BYTES);

/** Reads a response (Kafka protocol, "Protocol Primitive Types"): the counterpart of `RequestWriter`. */
export class AnswerReader {
  readonly #bytes: Buffer;
  readonly #flexible: boolean;
  #at = 0;

  constructor(bytes: Buffer, flexible: boolean) {
    this.#bytes = bytes;
    this.#flexible = flexible;
  }

  uint8(): number {
    return this.#bytes.readUInt8(this.#skip(1));
  }

  boolean(): boolean {
    return this.uint8() !== 0;
  }

  int16(): number {
    return this.#bytes.readInt16BE(this.#skip(2));
  }

  int32(): number {
    return this.#bytes.readInt32BE(this.#skip(4));
  }

  int64(): bigint {
    return this.#bytes.readBigInt64BE(this.#skip(8));
  }

  /** Returns '' for null. */
  string(): string {
    const length = Math.max(0, this.#flexible ? this.#unsignedVarint() - 1 : this.int16());
    const start = this.#skip(length);
    return this.#bytes.toString('utf8', start, start + length);
  }

  /** Returns the ID in base64url, as Kafka's tools print it; undefined if all its bytes are zero. */
  uuid(): string | undefined {
    const start = this.#skip(UUID_BYTES);
    const id = this.#bytes.subarray(start, start + UUID_BYTES);
    return id.equals(NO_UUID) ? undefined : id.toString('base64url');
  }

  /** Returns a view of a field of bytes, empty for null. */
  bytes(): Buffer {
    const length = Math.max(0, this.#flexible ? this.#unsignedVarint() - 1 : this.int32());
    const start = this.#skip(length);
    return this.#bytes.subarray(start, start + length);
  }

  array<Item>(read: () => Item): readonly Item[] {
    const length = Math.max(0, this.#flexible ? this.#unsignedVarint() - 1 : this.int32());
    return Array.from({ length }, read);
  }

  /** Reads the end of a structure. In a flexible version, it calls `read` for each tagged field, and skips a field that `read` leaves unread. */
  tags(read: (tag: number) => void = () => undefined): void {
    if (!this.#flexible) return;
    for (let left = this.#unsignedVarint(); left > 0; left -= 1) {
      const tag = this.#unsignedVarint();
      const length = this.#unsignedVarint();
      const end = this.#at + length;
      read(tag);
      this.#at = end;
    }
  }

  #unsignedVarint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.uint8();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  }

  #skip(length: number): number {
    const at = this.#at;
    this.#at += length;
    return at;
  }
}
