import { safeText } from './safe-text.ts';
import { wrappedLine } from './wrapped-line.ts';

export interface Output {
  readonly isTTY?: boolean;
  /** Width of the terminal in cells; 0 if the terminal doesn't report it. */
  readonly columns?: number;
  write(text: string): unknown;
}

/** Maximum characters of a line. */
const MAX_LINE = 16_384;

/**
 * Removes terminal control characters except line feeds, and cuts endless lines, because messages can repeat text from outside. On a
 * terminal, breaks lines between words.
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
