/**
 * The configuration of the command as a module: `defineConfig`, and the pipelines of the two built-in services.
 *
 * @packageDocumentation
 */
export type { OpenLog, OpenLogOptions } from './config/topics-section.ts';
export { defineConfig, type HeadgateConfig } from './define-config.ts';
export { books } from './pipelines/books.ts';
export { followers } from './pipelines/followers.ts';
