/**
 * The two built-in pipelines.
 *
 * @packageDocumentation
 */
export { books } from './pipelines/books.ts';
export { followers } from './pipelines/followers.ts';
