import { safeText } from './safe-text.ts';
import { wrappedLine } from './wrapped-line.ts';

/** Stream for messages. */
export interface Output {
  readonly isTTY?: boolean;
  /** Cells of a terminal's line; 0 if the terminal doesn't say. */
  readonly columns?: number;
  write(text: string): unknown;
}

/** A line that is longer repeats what came from outside. */
const MAX_LINE = 16_384;

/**
 * Messages without terminal control characters except line feeds, and without endless lines, whatever they repeat. On a terminal, lines are
 * broken between words.
 */
export function plainOutput(stream: Output): Output {
  return {
    ...(stream.isTTY !== undefined && { isTTY: stream.isTTY }),
    write: (text) => stream.write(plainLines(text, stream.isTTY === true ? stream.columns || Infinity : Infinity)),
  };
}

function plainLines(text: string, width: number): string {
  return text
    .split('\n')
    .flatMap((line) => wrappedLine(safeText(line, MAX_LINE), width))
    .join('\n');
}
