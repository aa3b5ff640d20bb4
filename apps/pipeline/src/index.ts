/**
 * Functions and types for a configuration in code: `defineConfig`, the two built-in pipelines, and lists from files.
 *
 * @packageDocumentation
 */
export type { OpenLog, OpenLogOptions } from './config/topics-section.ts';
export { readList } from './config/read-list.ts';
export { defineConfig, type HeadgateConfig } from './define-config.ts';
export { books } from './pipelines/books.ts';
export { followers } from './pipelines/followers.ts';
