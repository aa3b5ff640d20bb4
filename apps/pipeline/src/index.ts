export { books } from './pipelines/books.ts';
export { followers } from './pipelines/followers.ts';
