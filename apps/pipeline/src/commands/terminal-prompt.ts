import { createInterface } from 'node:readline/promises';

/** Asks one question; rejects when the user ends the input or presses Ctrl-C. */
export type Prompt = (question: string) => Promise<string>;

export interface TerminalPromptOptions {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  /** Where questions appear: stderr, for stdout carries data. */
  readonly output: NodeJS.WritableStream & { readonly isTTY?: boolean };
}

/** A prompt on a terminal; undefined where there is none, so that no one waits for responses that can't come. */
export function terminalPrompt({ input, output }: TerminalPromptOptions): Prompt | undefined {
  if (input.isTTY !== true || output.isTTY !== true) return undefined;
  return async (question) => {
    const lines = createInterface({ input, output });
    // At the end of the input a question stays open for ever: its end must be listened for.
    const closed = new Promise<never>((_resolve, reject) => {
      lines.once('close', () => reject(new Error('The input has ended.')));
    });
    try {
      return await Promise.race([lines.question(question), closed]);
    } finally {
      lines.close();
    }
  };
}
