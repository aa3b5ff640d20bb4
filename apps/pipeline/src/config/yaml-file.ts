import { LineCounter, type ParsedNode, type YAMLMap, isScalar, parseDocument } from 'yaml';
import { yamlSyntaxMessage } from './yaml-syntax.ts';

/** A configuration file in YAML 1.2. */
export interface YamlFile {
  /** The document; undefined if the text is empty or isn't valid YAML. */
  readonly root: ParsedNode | undefined;
  readonly syntax: readonly YamlProblem[];
  placeAt(range: Range): Place;
}

/** Offsets in the text. */
export type Range = readonly [start: number, end: number, ...rest: number[]];

interface YamlProblem extends Place {
  readonly message: string;
}

/** A position in a file: line and column are 1-based. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** Parses the text. Replaces the parser's messages, because they can quote a secret from the text. */
export function yamlFile(text: string): YamlFile {
  const lineCounter = new LineCounter();
  // With the log level `silent`, the parser would ignore a second document without an error.
  const document = parseDocument(text, { lineCounter, prettyErrors: false, logLevel: 'error' });
  const placeAt = (offset: number): Place => {
    const { line, col } = lineCounter.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const errors = [...document.errors, ...document.warnings]
    // A screen name can be written with its @, which YAML reserves.
    .filter((error) => !(error.code === 'BAD_SCALAR_START' && text[error.pos[0]] === '@'))
    .toSorted((a, b) => a.pos[0] - b.pos[0]);
  const syntax = errors.map(({ code, pos: [offset] }) => ({ ...placeAt(offset), message: yamlSyntaxMessage(code, text, offset) }));
  return {
    root: syntax.length > 0 ? undefined : (document.contents ?? undefined),
    // One mistake can cause several errors on a line. The first one usually describes it best.
    syntax: syntax.filter(({ line }, i) => syntax[i - 1]?.line !== line),
    placeAt: ([start]) => placeAt(start),
  };
}

/** The keys of a mapping as written, with their values. A key that isn't a scalar has no name. */
export function pairsOf(
  map: YAMLMap.Parsed,
): readonly { readonly name: string | undefined; readonly key: ParsedNode; readonly value: ParsedNode | null }[] {
  return map.items.map(({ key, value }) => ({ name: isScalar(key) ? key.source : undefined, key, value }));
}
