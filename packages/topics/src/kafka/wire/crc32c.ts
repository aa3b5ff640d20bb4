/** Castagnoli's polynomial with its bits reversed. */
const POLYNOMIAL = 0x82f6_3b78;
const SLICES = 16;
const TABLE = makeTable();

/**
 * Returns the CRC-32C (RFC 3720, appendix B.4) of `bytes`. `before` is the CRC of the bytes that precede them; default 0, for none.
 * Processing 16 bytes per step is several times as fast as one byte per step.
 */
export function crc32c(bytes: Uint8Array, before = 0): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let crc = ~before;
  let at = 0;
  for (const last = bytes.length - SLICES; at <= last; at += SLICES) {
    crc =
      word(12, crc ^ view.getInt32(at, true)) ^
      word(8, view.getInt32(at + 4, true)) ^
      word(4, view.getInt32(at + 8, true)) ^
      word(0, view.getInt32(at + 12, true));
  }
  for (; at < bytes.length; at += 1) crc = (crc >>> 8) ^ entry(0, crc ^ view.getUint8(at));
  return ~crc >>> 0;
}

/** The contribution of four bytes to a CRC when `slice` more bytes follow them. */
function word(slice: number, bytes: number): number {
  return entry(slice + 3, bytes) ^ entry(slice + 2, bytes >>> 8) ^ entry(slice + 1, bytes >>> 16) ^ entry(slice, bytes >>> 24);
}

/** The contribution of the low byte of `value` to a CRC when `slice` more bytes follow it. */
function entry(slice: number, value: number): number {
  return TABLE[slice * 256 + (value & 0xff)] ?? 0;
}

function makeTable(): Int32Array {
  const table = new Int32Array(SLICES * 256);
  for (let byte = 0; byte < 256; byte += 1) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    table[byte] = crc;
  }
  for (let at = 256; at < table.length; at += 1) {
    const before = table[at - 256] ?? 0;
    table[at] = (before >>> 8) ^ (table[before & 0xff] ?? 0);
  }
  return table;
}
