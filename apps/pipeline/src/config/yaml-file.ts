import { LineCounter, type ParsedNode, type YAMLMap, isMap, isScalar, isSeq, parseDocument } from 'yaml';
import type { KeyPath } from './problem.ts';
import { foreignBlank, slipIn, yamlSyntaxMessage } from './yaml-syntax.ts';

/** A configuration file in YAML 1.2, and where everything stands in it. */
export interface YamlFile {
  /** Undefined where the text holds nothing, or is no YAML. */
  readonly root: ParsedNode | undefined;
  readonly syntax: readonly YamlProblem[];
  /** The node at a path; undefined where there is none, null where a key has no value. */
  nodeAt(path: KeyPath): ParsedNode | null | undefined;
  /** Where a path's value stands, or its key; of one that isn't there, the nearest place around it. */
  placeOf(path: KeyPath, at?: 'key' | 'value'): Place;
}

interface YamlProblem extends Place {
  readonly message: string;
}

/** 1-based. */
export interface Place {
  readonly line: number;
  readonly column: number;
  /** Characters that are meant, from the column on; they may go over the line's end. Default 1. */
  readonly length?: number;
}

/** Parses the text. What is wrong with it is said in words of our own: the parser's quote the text, which may hold a secret. */
export function yamlFile(text: string): YamlFile {
  const lineCounter = new LineCounter();
  // Silence would let a second document pass.
  const document = parseDocument(text, { lineCounter, prettyErrors: false, logLevel: 'error' });
  const placeAt = (offset: number): Place => {
    const { line, col } = lineCounter.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const errors = [...document.errors, ...document.warnings]
    // A name may be written with its @.
    .filter((error) => !(error.code === 'BAD_SCALAR_START' && text[error.pos[0]] === '@'))
    .toSorted((a, b) => a.pos[0] - b.pos[0]);
  const codes = errors.map(({ code }) => code);
  const syntax = errors.map(({ code, pos: [offset] }) => ({ ...placeAt(offset), message: yamlSyntaxMessage({ code, text, offset }) }));
  const slip = foreignBlank(text) ?? slipIn(text, codes);
  const root = syntax.length > 0 || slip !== undefined ? undefined : (document.contents ?? undefined);
  const childOf = childFinder();
  const rangeOf = (path: KeyPath, at: 'key' | 'value'): Range => {
    let node: ParsedNode | null | undefined = root;
    let range: Range = root?.range ?? [0, 1];
    for (const [i, part] of path.entries()) {
      const child = childOf(node, part);
      if (child === undefined) return range;
      const isLast = i === path.length - 1;
      const value = child.value?.range;
      // What is missing from a mapping is told at the mapping's key.
      range = (isLast && at === 'value') || child.key === undefined ? (value ?? child.key?.range ?? range) : child.key.range;
      node = child.value;
    }
    return range;
  };
  return {
    root,
    // One slip makes a parser stumble several times; the first time tells most.
    syntax:
      slip === undefined
        ? syntax.filter(({ line }, i) => syntax[i - 1]?.line !== line)
        : [{ ...placeAt(slip.offset), message: slip.message }],
    nodeAt: (path) => path.reduce<ParsedNode | null | undefined>((node, part) => childOf(node, part)?.value, root),
    placeOf(path, at = 'value') {
      const [start, end] = rangeOf(path, at);
      return { ...placeAt(start), length: Math.max(1, end - start) };
    },
  };
}

type Range = readonly [start: number, end: number, ...rest: number[]];

interface Child {
  readonly key?: ParsedNode;
  readonly value: ParsedNode | null;
}

/** Finds what a mapping has under a name, or a list at a place; each mapping is gone through once. */
function childFinder(): (node: ParsedNode | null | undefined, part: string | number) => Child | undefined {
  const found = new Map<YAMLMap.Parsed, ReadonlyMap<string | undefined, Child>>();
  return (node, part) => {
    if (isSeq(node) && typeof part === 'number') {
      const value = node.items[part];
      return value === undefined ? undefined : { value };
    }
    if (!isMap(node)) return undefined;
    // The first of two that have one name.
    const children =
      found.get(node) ??
      new Map(
        pairsOf(node)
          .map(({ name, key, value }) => [name, { key, value }] as const)
          .toReversed(),
      );
    found.set(node, children);
    return typeof part === 'string' ? children.get(part) : undefined;
  };
}

/** The keys of a mapping as they are written, with their values. A key that isn't a single word has no name. */
export function pairsOf(
  map: YAMLMap.Parsed,
): readonly { readonly name: string | undefined; readonly key: ParsedNode; readonly value: ParsedNode | null }[] {
  return map.items.map(({ key, value }) => ({ name: isScalar(key) ? key.source : undefined, key, value }));
}
