import { createInterface } from 'node:readline/promises';
import type { CommandContext } from './command-context.ts';

/** Asks one question; rejects when the user ends the input or presses Ctrl-C. */
export type Prompt = (question: string) => Promise<string>;

/**
 * Creates a prompt that asks on stderr, because stdout carries data; undefined without a terminal, so that no command waits for answers that
 * can't come.
 */
export function terminalPrompt({ stdin: input, terminal: output }: Pick<CommandContext, 'stdin' | 'terminal'>): Prompt | undefined {
  if (input.isTTY !== true || output.isTTY !== true) return undefined;
  return async (question) => {
    const lines = createInterface({ input, output });
    // At the end of the input a question would stay open forever, so listen for the end.
    const closed = new Promise<never>((_resolve, reject) => {
      lines.once('close', () => reject(new Error('The input ended before all questions were answered.')));
    });
    try {
      return await Promise.race([lines.question(question), closed]);
    } finally {
      lines.close();
    }
  };
}
