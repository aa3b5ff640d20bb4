export { defineConfig, type HeadgateConfig } from './define-config.ts';
export { books } from './pipelines/books.ts';
export { followers } from './pipelines/followers.ts';
