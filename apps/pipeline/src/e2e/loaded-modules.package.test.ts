import { startFollowers } from '@headgate/sandbox';
import { describe, expect, it } from 'vitest';
import { type Workplace, followersYaml, workplace } from './headgate-process.fixture.ts';

/** Matches the complete undici, both as the package's index and as Node's own copy. */
const WHOLE_UNDICI = /\/undici-[\w-]{8}\.js$|internal\/deps\/undici/;

describe('headgate loads no more than a command needs', () => {
  it.each(['check', 'plan'])('%s: nothing that sends requests, speaks to brokers or shows a run', async (command) => {
    await using place = await workplace(followersYaml({ url: 'https://service.example', users: ['alpha'] }), { processes: true });
    const { code, urls } = await loadedBy(place, command);
    expect(code).toBe(0);
    expect(urls).toContainEqual(expect.stringContaining(`/${command}-`));
    const heavy =
      /\/(?:log-update|@opentelemetry)\/|\/(?:kafka|live-display|live-pages|run|run-sandbox|sandbox|undici|undici-parts)-[^/]+$/;
    expect(urls.filter((url) => heavy.test(url) || WHOLE_UNDICI.test(url))).toEqual([]);
  });

  it('run: loads only the sending part of undici, even with the status page', async () => {
    await using service = await startFollowers();
    const yaml = followersYaml({ url: service.url, users: ['alpha'] });
    await using place = await workplace(yaml.replace('status: false', 'status: { port: 0 }'), { processes: true });
    const { code, urls } = await loadedBy(place, 'run');
    expect(code).toBe(0);
    expect(urls).toContainEqual(expect.stringContaining('/undici-parts-'));
    expect(urls.filter((url) => WHOLE_UNDICI.test(url))).toEqual([]);
    // No SDK of OpenTelemetry is registered.
    expect(urls.filter((url) => url.includes('@opentelemetry'))).toEqual([]);
  });
});

/** URLs of all modules that a command loads, and names of those that Node loads itself. */
async function loadedBy(place: Workplace, command: string): Promise<{ readonly code: number | null; readonly urls: readonly string[] }> {
  const tell = `import { registerHooks } from 'node:module';
    const urls = [];
    registerHooks({ load: (url, context, next) => { urls.push(url); return next(url, context); } });
    process.on('exit', () => process._rawDebug(['', ...urls, ...process.moduleLoadList, ''].join('\\nLOADED ')));`;
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(tell)}`;
  const { code, stderr } = await place.headgateWith({ env: { NODE_OPTIONS } }, command);
  return { code, urls: stderr.split('\n').flatMap((line) => (line.startsWith('LOADED ') ? [line.slice('LOADED '.length)] : [])) };
}
