/** How many bytes `writeVarint` needs for `value`: 1 to 5. */
export function varintBytes(value: number): number {
  const zigzag = toZigzag(value);
  if (zigzag < 0x80) return 1;
  if (zigzag < 0x4000) return 2;
  if (zigzag < 0x20_0000) return 3;
  return zigzag < 0x1000_0000 ? 4 : 5;
}

/**
 * Writes a signed 32-bit integer as a zigzag varint (Kafka protocol, VARINT) and returns the position after it. The buffer must have space
 * for `varintBytes(value)` bytes.
 */
export function writeVarint(bytes: Uint8Array, position: number, value: number): number {
  let rest = toZigzag(value);
  let end = position;
  while (rest > 0x7f) {
    bytes[end] = (rest & 0x7f) | 0x80;
    end += 1;
    rest >>>= 7;
  }
  bytes[end] = rest;
  return end + 1;
}

function toZigzag(value: number): number {
  return ((value << 1) ^ (value >> 31)) >>> 0;
}
