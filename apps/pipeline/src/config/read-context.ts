import type { Leaf } from './leaf.ts';

/** What reading a configuration needs from outside the file. */
export interface ReadContext {
  /** Makes a path of the file absolute. */
  readonly resolvePath: (path: string) => string;
  /** Reads a file by its absolute path; rejects with the system's error. */
  readonly readText: (path: string) => Promise<string>;
  /** The value of an environment variable (or of .env), undefined where it is not set. */
  readonly lookup: (name: string) => string | undefined;
  /** Says that something is unwise, not wrong. */
  readonly warn: (leaf: Leaf, message: string) => void;
}
