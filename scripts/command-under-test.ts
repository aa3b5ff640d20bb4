import type { TestProject } from 'vitest/node';
import { bundledCommand } from './bundle-command.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The file that runs the command as it is published. */
    readonly command: string;
  }
}

/** Tests run the command as it is published, bundled from the source as it is. */
export default async function setup(project: TestProject): Promise<void> {
  project.provide('command', await bundledCommand());
}
