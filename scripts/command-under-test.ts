import type { TestProject } from 'vitest/node';
import { bundledCommand } from './bundle-command.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of the file that runs the bundled command. */
    readonly command: string;
  }
}

/** Bundles the command as it is published, from the current source, and passes the path on to the tests. */
export default async function setup(project: TestProject): Promise<void> {
  project.provide('command', await bundledCommand());
}
