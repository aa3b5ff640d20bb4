import { hash32, mix32, unmix32 } from '../seeded-random.ts';

/** The target of a cursor: the page that begins at a position, or the one that ends before it. */
export interface CursorPlace {
  readonly position: number;
  readonly direction: 'next' | 'previous';
}

export interface CursorCodec {
  readonly encode: (place: CursorPlace) => string;
  /** Returns undefined for a cursor that this codec didn't create, such as another user's. */
  readonly decode: (cursor: string) => CursorPlace | undefined;
}

/**
 * Creates a codec for opaque cursors of 2^60 to 2^63, with a minus sign for the previous page. It stores nothing: a cursor's lower half is a keyed
 * bijection of the position, and its upper half is a checksum.
 */
export function createCursorCodec(key: number): CursorCodec {
  const lowOf = (position: number): number => mix32(position ^ mix32(key));
  const highOf = (position: number): number => 2 ** 28 + (hash32(key, 'cursor', position) % (2 ** 31 - 2 ** 28));
  return {
    encode({ position, direction }) {
      const value = (BigInt(highOf(position)) << 32n) | BigInt(lowOf(position));
      return String(direction === 'next' ? value : -value);
    },
    decode(cursor) {
      if (!/^-?[1-9]\d{18}$/u.test(cursor)) return undefined;
      const direction = cursor.startsWith('-') ? 'previous' : 'next';
      const value = BigInt(direction === 'next' ? cursor : cursor.slice(1));
      const position = (unmix32(Number(value & 0xffffffffn)) ^ mix32(key)) >>> 0;
      return BigInt(highOf(position)) === value >> 32n ? { position, direction } : undefined;
    },
  };
}
