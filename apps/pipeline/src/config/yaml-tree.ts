import { LineCounter, isAlias, isMap, isScalar, isSeq, parseDocument } from 'yaml';
import type { ParsedNode, Scalar, YAMLMap } from 'yaml';
import { Leaf } from './leaf.ts';
import type { Tree } from './leaf.ts';
import { formatKey } from './problem.ts';
import type { KeyPath, Problem } from './problem.ts';
import { shownVariable, substituteVariables } from './variables.ts';
import { yamlSyntaxMessage } from './yaml-syntax.ts';

export interface ReadYamlTreeOptions {
  readonly text: string;
  /** The value of an environment variable, undefined where it is not set. */
  readonly lookup: (name: string) => string | undefined;
}

export interface YamlTree {
  /** Undefined where the text holds nothing or is no YAML. */
  readonly tree: Tree | undefined;
  readonly problems: readonly Problem[];
  /** Makes a problem about a place: about its value, or its key where asked; of what isn't there, about the nearest place around it. */
  readonly problemAt: (path: KeyPath, message: string, at?: 'key' | 'value') => Problem;
}

interface Place {
  readonly value: number;
  readonly key?: number;
}

/** Reads YAML 1.2 (without anchors, aliases and tags) into plain mappings, lists and leaves, environment variables put in. */
export function readYamlTree({ text, lookup }: ReadYamlTreeOptions): YamlTree {
  const lineCounter = new LineCounter();
  // Pretty errors quote the source, which may hold a secret; silence would let a second document pass. Duplicate keys are found below, where their path is known.
  const document = parseDocument(text, { lineCounter, prettyErrors: false, uniqueKeys: false, logLevel: 'error' });
  const places = new Map<string, Place>();
  const problems: Problem[] = [];
  const problemFrom = (offset: number, path: KeyPath, message: string): Problem => {
    const { line, col } = lineCounter.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1), key: formatKey(path), message };
  };
  const problemAt: YamlTree['problemAt'] = (path, message, at = 'value') => {
    for (let length = path.length; length >= 0; length -= 1) {
      const place = places.get(JSON.stringify(path.slice(0, length)));
      if (place === undefined) continue;
      const wantsKey = at === 'key' || length < path.length;
      return problemFrom(wantsKey ? (place.key ?? place.value) : place.value, path, message);
    }
    return problemFrom(0, path, message);
  };

  const syntax = [...document.errors, ...document.warnings]
    .filter((error) => !(error.code === 'BAD_SCALAR_START' && text[error.pos[0]] === '@'))
    .toSorted((a, b) => a.pos[0] - b.pos[0])
    .map((error) => problemFrom(error.pos[0], [], yamlSyntaxMessage({ code: error.code, text, offset: error.pos[0] })));
  if (syntax.length > 0) return { tree: undefined, problems: onePerLine(syntax), problemAt };
  return { tree: document.contents === null ? undefined : walk(document.contents, []), problems, problemAt };

  function walk(node: ParsedNode | null, path: KeyPath, keyOffset?: number): Tree {
    const start = node?.range[0] ?? keyOffset ?? 0;
    places.set(JSON.stringify(path), keyOffset === undefined ? { value: start } : { value: start, key: keyOffset });
    if (isMap(node)) return walkMap(node, path);
    if (isSeq(node)) return node.items.map((item, index) => walk(item, [...path, index]));
    if (isScalar(node)) return walkScalar(node, path);
    if (isAlias(node)) problems.push(problemFrom(start, path, 'is an alias. Aliases are not read here: write the value out.'));
    return new Leaf({ value: null, written: '', variables: [], broken: isAlias(node), path });
  }

  function walkMap(map: YAMLMap.Parsed, path: KeyPath): Tree {
    // Without a prototype, so that a key such as __proto__ is a key like any other.
    const mapping: Record<string, Tree> = Object.create(null);
    for (const { key, value } of map.items) {
      if (!isScalar(key)) {
        problems.push(problemFrom(key.range[0], path, 'has a key that is not a single word. Write keys as plain words.'));
        continue;
      }
      const name = key.source;
      if (name in mapping) {
        problems.push(problemFrom(key.range[0], [...path, name], 'the key stands here a second time. Keep one.'));
        continue;
      }
      mapping[name] = walk(value, [...path, name], key.range[0]);
    }
    return mapping;
  }

  function walkScalar(scalar: Scalar.Parsed, path: KeyPath): Leaf {
    const { value } = scalar;
    const written = scalar.source;
    if (typeof value === 'number' || typeof value === 'boolean' || value === null) {
      return new Leaf({ value, written, variables: [], broken: false, path });
    }
    const { text: filled, names, unset, malformed } = substituteVariables({ text: written, lookup });
    for (const name of new Set(unset)) {
      problems.push(
        problemFrom(
          scalar.range[0],
          path,
          `takes ${shownVariable(name)}, which is not set. Export it, or put it into .env beside this file.`,
        ),
      );
    }
    if (malformed) {
      problems.push(
        problemFrom(
          scalar.range[0],
          path,
          'has a ${ without a variable. Write ${NAME} with letters, digits and _, or $${ for the characters ${.',
        ),
      );
    }
    return new Leaf({ value: filled, written, variables: names, broken: malformed || unset.length > 0, path });
  }
}

/** One slip makes a parser stumble several times; the first time tells most. */
function onePerLine(problems: readonly Problem[]): readonly Problem[] {
  return problems.filter((problem, index) => problems[index - 1]?.line !== problem.line);
}
