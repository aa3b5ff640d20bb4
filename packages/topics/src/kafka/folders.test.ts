import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

/** The layers of the driver. A folder imports only from folders in earlier layers. */
const LAYERS = [['wire'], ['requests'], ['client'], ['topics', 'security'], ['group', 'reader'], ['producer'], ['lane']];
const layerOf = new Map(LAYERS.flatMap((folders, layer) => folders.map((folder) => [folder, layer] as const)));
const sources = globSync(`*/*.ts`, { cwd: import.meta.dirname, exclude: ['**/*.{test,fixture}.ts'] });

describe('the folders of the Kafka driver', () => {
  it('are all listed in their order', () => {
    expect(new Set(sources.map((file) => file.split('/')[0]))).toEqual(new Set(layerOf.keys()));
  });

  it.each(sources)('%s imports only from lower folders', (file) => {
    const [folder = ''] = file.split('/');
    const text = readFileSync(`${import.meta.dirname}/${file}`, 'utf8');
    const imported = Array.from(text.matchAll(/from '\.\.\/([a-z]+)\//gu), ([, from = '']) => from);
    expect(imported.filter((from) => (layerOf.get(from) ?? Infinity) >= (layerOf.get(folder) ?? -1))).toEqual([]);
  });
});
