import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import changelog from './release/changelog.ts';
import { publishedPackages } from './release/packages.ts';
import { run } from './run-command.fixture.ts';

const RELEASE = fileURLToPath(new URL('release.ts', import.meta.url));

it('publishes nothing that was not tested', async () => {
  expect(await run([process.execPath, RELEASE, '--publish', '--no-test'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'What is published is tested before: --no-test goes with a dry run alone.\n',
  });
});

it('names an option that it does not know', async () => {
  const { code, stderr } = await run([process.execPath, RELEASE, '--publsh']);
  expect([code, stderr]).toEqual([2, expect.stringContaining("Unknown option '--publsh'")]);
});

it('publishes each package after those that it depends on', () => {
  const packages = publishedPackages(fileURLToPath(new URL('..', import.meta.url)));
  const names = packages.map(({ manifest }) => manifest.name);
  expect(names).toHaveLength(8);
  for (const [index, { manifest }] of packages.entries()) {
    const own = Object.keys(manifest.dependencies ?? {}).filter((name) => names.includes(name));
    expect(names.slice(0, index)).toEqual(expect.arrayContaining(own));
  }
});

it('writes changes alone into a changelog, not which other package was lifted', async () => {
  expect(await changelog.getReleaseLine({ summary: 'One.\n\nTwo\nlines.\n' })).toBe('- One.\n\n  Two\n  lines.');
  expect(await changelog.getDependencyReleaseLine()).toBe('');
});
