import { readByteSize } from './byte-size.ts';
import { Complaint } from './complaint.ts';
import { readDuration } from './duration.ts';
import type { Leaf } from './leaf.ts';
import { shown } from './problem.ts';
import { notOneOf, single } from './schema-parts.ts';
import type { Schema } from './schema-parts.ts';

export interface TextOptions {
  /** Completes `is missing. Write …`. */
  readonly example: string;
  /** What the text must match, ends anchored. */
  readonly pattern: RegExp;
}

/** A text; numbers and the like are taken as they are written. */
export function text({ example, pattern }: TextOptions): Schema<string> {
  return single({
    example,
    read: (leaf) =>
      pattern.test(leaf.text ?? '') ? (leaf.text ?? '') : new Complaint(`${shown(leaf.written)} does not fit. Write ${example}.`),
  });
}

export interface WholeNumberOptions {
  readonly min: number;
  /** Default: as far as whole numbers are exact. */
  readonly max?: number;
  /** Completes `is missing. Write …`; default the least. */
  readonly example?: string;
}

/** A whole number between two bounds, both included. */
export function wholeNumber({ min, max = Number.MAX_SAFE_INTEGER, example = String(min) }: WholeNumberOptions): Schema<number> {
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  return single({
    example,
    read: (leaf) => {
      const value = numberOf(leaf);
      if (value !== undefined && value >= min && value <= max) return value;
      return new Complaint(`${shown(leaf.written)} does not fit. Write a whole number ${range}, without quotes.`);
    },
  });
}

/** The exact whole number a leaf stands for, be it written or taken from a variable. */
export function numberOf(leaf: unknown): number | undefined {
  if (!(leaf instanceof Object && 'value' in leaf && 'variables' in leaf)) return undefined;
  const { value, variables } = leaf;
  const fromVariable = typeof value === 'string' && Array.isArray(variables) && variables.length > 0 && /^\d+$/.test(value);
  const number = fromVariable ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined;
}

/** true or false. */
export function flag(): Schema<boolean> {
  return single({
    example: 'true or false',
    read: (leaf) => {
      if (typeof leaf.value === 'boolean') return leaf.value;
      if (leaf.variables.length > 0 && (leaf.value === 'true' || leaf.value === 'false')) return leaf.value === 'true';
      return new Complaint(`${shown(leaf.written)} does not fit. Write true or false, without quotes.`);
    },
  });
}

/** One of these words. */
export function oneOf<const W extends string>(words: readonly [W, ...W[]]): Schema<W> {
  return single({ example: words[0], read: (leaf) => words.find((word) => word === leaf.text) ?? notOneOf(leaf, words) });
}

export interface DurationOptions {
  readonly example: string;
  /** Whether `0s` may stand; default false. */
  readonly zero?: boolean;
}

/** A duration, in ms. */
export function duration({ example, zero = false }: DurationOptions): Schema<number> {
  return single({ example, read: (leaf) => readDuration({ text: leaf.text ?? '', written: leaf.written, zero }) });
}

/** A size, in bytes. */
export function byteSize({ example }: { readonly example: string }): Schema<number> {
  return single({ example, read: (leaf) => readByteSize({ text: leaf.text ?? '', written: leaf.written }) });
}

/** A text of a user's own, such as a name of a program: anything printable in ASCII. */
export function header({ example }: { readonly example: string }): Schema<string> {
  return single({
    example,
    read: (leaf: Leaf) =>
      /^[\x20-\x7e]+$/.test(leaf.text ?? '')
        ? (leaf.text ?? '')
        : new Complaint(`goes into a header. Write plain letters, as in ${example}.`),
  });
}
