import type { KeyPath } from './problem.ts';

/** A single value of a configuration file, with what is needed to speak about it. */
export class Leaf {
  /** Variables put in. */
  readonly value: string | number | boolean | null;
  /** The text of the value without its variables put in: safe to repeat unless it is a secret, exact where a number would lose digits. */
  readonly written: string;
  /** Names of the environment variables it takes. */
  readonly variables: readonly string[];
  /** A problem about it has been reported already. */
  readonly broken: boolean;
  readonly path: KeyPath;

  constructor({ value, written, variables, broken, path }: Pick<Leaf, 'value' | 'written' | 'variables' | 'broken' | 'path'>) {
    this.value = value;
    this.written = written;
    this.variables = variables;
    this.broken = broken;
    this.path = path;
  }

  /** What the value says as text: a string with its variables put in, else the exact characters of the file; undefined where there is nothing. */
  get text(): string | undefined {
    if (typeof this.value === 'string') return this.value;
    return this.value === null ? undefined : this.written;
  }
}

export type Tree = Leaf | readonly Tree[] | TreeMapping;

export interface TreeMapping {
  readonly [key: string]: Tree;
}

export function isMapping(tree: unknown): tree is TreeMapping {
  return typeof tree === 'object' && tree !== null && !Array.isArray(tree) && !(tree instanceof Leaf);
}
