import { safeText } from './safe-text.ts';

/** Where words go. */
export interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** A line that is longer repeats what came from outside. */
const LONGEST_LINE = 16_384;

/** Words that hold nothing a terminal would obey but line feeds, and no line without an end, whatever is repeated in them. */
export function plainOutput(stream: Output): Output {
  return {
    ...(stream.isTTY !== undefined && { isTTY: stream.isTTY }),
    write: (text) => stream.write(plainLines(text)),
  };
}

function plainLines(text: string): string {
  return text
    .split('\n')
    .map((line) => safeText(line, LONGEST_LINE))
    .join('\n');
}
