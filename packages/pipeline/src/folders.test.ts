import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

/** The folders of this package. Each imports only from those before it. */
const FOLDERS = ['settings', 'events', 'topics', 'lane', 'definition', 'jobs', 'progress', 'run', 'testing'];
const sources = globSync(`*/*.ts`, { cwd: import.meta.dirname, exclude: ['**/*.{test,fixture}.ts'] });

describe('the folders of the engine', () => {
  it('are all listed in their order', () => {
    expect(new Set(sources.map((file) => file.split('/')[0]))).toEqual(new Set(FOLDERS));
  });

  it.each(sources)('%s imports only from earlier folders', (file) => {
    const [folder = ''] = file.split('/');
    const text = readFileSync(`${import.meta.dirname}/${file}`, 'utf8');
    const imported = Array.from(text.matchAll(/(?:from |import\()'\.\.\/([a-z-]+)\//gu), ([, from = '']) => from);
    expect(imported.filter((from) => !FOLDERS.slice(0, FOLDERS.indexOf(folder)).includes(from))).toEqual([]);
  });
});
