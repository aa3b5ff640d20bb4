import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT: string = fileURLToPath(new URL('../../../../../', import.meta.url));

const PAGES = ['*.md', 'docs/*.md', '{packages,apps,examples}/*/README.md'];
const SOURCES = '{packages,apps}/*/src/**/*.ts';

const COMMENT = /<!-- (not run|from|within):\s((?:(?!-->)[\s\S])*?)\s?-->\n+/g;
const BLOCK = /((?:<!-- (?:not run|from|within):(?:(?!-->)[\s\S])*-->\n+)*)^```(\w*)[^\n]*\n([\s\S]*?)^```$/gm;

/** A fenced block of a document. */
export interface Block {
  /** Path of the document, relative to the repository's root. */
  readonly document: string;
  /** 1-based line of the opening fence. */
  readonly line: number;
  readonly language: string;
  /** The text of the block as the document shows it. */
  readonly text: string;
  /** The whole program: `text`, or the text of the comment `<!-- within: … -->` with `text` in place of its line `…`. */
  readonly code: string;
  /** Why the block isn't run, from the comment `<!-- not run: … -->` before it. */
  readonly notRun?: string;
  /** The file that the block is an excerpt of, from the comment `<!-- from: … -->` before it. */
  readonly from?: string;
}

/** All blocks of the pages, and the blocks in the `@example` of doc comments. */
export async function allBlocks(): Promise<readonly Block[]> {
  const isOurs = (path: string): boolean => !/(^|\/)(node_modules|dist|CHANGELOG\.md)(\/|$)/.test(path);
  const pages = (await Array.fromAsync(glob(PAGES, { cwd: ROOT }))).filter(isOurs).toSorted();
  const sources = (await Array.fromAsync(glob(SOURCES, { cwd: ROOT }))).filter((path) => isOurs(path) && !path.endsWith('.test.ts'));
  const read = async (path: string): Promise<string> => await readFile(join(ROOT, path), 'utf8');
  const ofPages = await Promise.all(pages.map(async (path) => blocksOf(path, await read(path))));
  const ofSources = await Promise.all(sources.toSorted().map(async (path) => examplesOf(path, await read(path))));
  return [...ofPages, ...ofSources].flat();
}

function blocksOf(document: string, page: string): Block[] {
  return [...page.matchAll(BLOCK)].map(({ index, 1: comments = '', 2: language = '', 3: text = '' }) => {
    const { 'not run': notRun, from, within } = Object.fromEntries([...comments.matchAll(COMMENT)].map(([, kind, told]) => [kind, told]));
    return {
      document,
      line: page.slice(0, index + comments.length).split('\n').length,
      language,
      text,
      code: within?.replace(/^[ \t]*…$/m, () => text) ?? text,
      ...(notRun !== undefined && { notRun }),
      ...(from !== undefined && { from }),
    };
  });
}

function examplesOf(document: string, source: string): Block[] {
  return [...source.matchAll(/^[ \t]*\/\*\*[\s\S]*?\*\//gm)].flatMap(({ 0: comment, index }) => {
    const start = comment.indexOf('@example');
    if (start < 0) return [];
    const before = source.slice(0, index + start).split('\n').length - 1;
    const text = comment.slice(start).replaceAll(/^[ \t]*\*(?: |$)/gm, '');
    return blocksOf(document, text).map((block) => ({ ...block, line: block.line + before }));
  });
}

export function placeOf({ document, line }: Pick<Block, 'document' | 'line'>): string {
  return `${document}:${line}`;
}
