import { DEFAULT_FILE } from './default-file.ts';

/** Creates a command line as the user types it: `headgate read followers.ids --config jobs/a.yaml`. */
export type CommandFor = (command: string, argument?: string) => string;

interface CommandOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The configuration file, as the user named it, or the default file. */
  readonly file: string;
}

/** Returns a function that creates a command line as the user types it. In a clone of the repository, the command has another name. */
export function commandsFor({ env, file }: CommandOptions): CommandFor {
  const program = env['HEADGATE_COMMAND'] ?? 'headgate';
  const ofFile = file === DEFAULT_FILE ? '' : `--config ${file}`;
  return (command, argument = '') => [program, command, argument, ofFile].filter((part) => part !== '').join(' ');
}
