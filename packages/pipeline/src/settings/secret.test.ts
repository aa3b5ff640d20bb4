import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { secret, secretIssues } from './secret.ts';

it('returns the text, or the current result of a function', () => {
  expect(secret().parse('hush')()).toBe('hush');
  let now = 'first';
  const read = secret().parse(() => now);
  expect(read()).toBe('first');
  now = 'second';
  expect(read()).toBe('second');
});

it('is hidden from everything that prints', () => {
  const options = z.object({ token: secret() }).parse({ token: 'hush' });
  const shown = [JSON.stringify(options), inspect(options, { showHidden: true, depth: 9 }), String(options.token)];
  expect(shown.filter((text) => text.includes('hush'))).toEqual([]);
  expect(String(options.token)).toBe('[secret]');
  expect(JSON.stringify(options)).toBe('{"token":"[secret]"}');
});

it.each([[''], [7], [null], [{ file: '' }], [{ file: 'a', other: 1 }]])('refuses %j, without showing it', (given) => {
  expect(secret().safeParse(given).success).toBe(false);
});

it.each([
  ['hush', { header: true, encoded: true }],
  ['~ !', { header: true, encoded: true }],
  ['bearer', { header: true, encoded: true }],
  ['é', { header: false, encoded: true }],
  ['two\nlines', { header: false, encoded: false }],
  ['tab\tbed', { header: false, encoded: false }],
  ['\ud800', { header: false, encoded: false }],
  [' hush', { header: false, encoded: false }],
  ['hush ', { header: false, encoded: false }],
  ['Bearer hush', { header: false, encoded: false }],
])('takes %j for a header and encoded: %o', (given, taken) => {
  const kinds = { header: secret(), encoded: secret({ encoded: true }) };
  const parsed = Object.entries(kinds).map(([kind, schema]) => [kind, schema.safeParse(given)] as const);
  expect(Object.fromEntries(parsed.map(([kind, { success }]) => [kind, success]))).toEqual(taken);
  for (const [, { error }] of parsed) expect(error?.message ?? '').not.toContain(given);
});

it('may be empty if allowed', () => {
  expect(secret({ empty: true }).parse('')()).toBe('');
});

it('reports unusable secrets by their path, without showing them', async () => {
  const empty = await secretFile('\n');
  const schema = z.object({ one: secret(), more: z.array(z.object({ token: secret() })), free: secret({ empty: true }) });
  const good = schema.parse({ one: () => 'hush', more: [{ token: 'hush' }, { token: { file: await secretFile('hush') } }], free: '' });
  expect(secretIssues(good)).toEqual([]);
  const thrown = (): string => {
    throw new Error('hush');
  };
  const bad = schema.parse({
    one: () => '',
    more: [{ token: { file: empty } }, { token: () => 'two\nlines' }, { token: thrown }, { token: () => undefined as never }],
    free: { file: `${empty}-none` },
  });
  expect(secretIssues(bad).map(({ path, message }) => `${path.join('.')}: ${message}`)).toEqual([
    'one: is empty. Give it a value.',
    `more.0.token: The secret's file ${empty} is empty. Write the secret into it.`,
    'more.1.token: has a line break or another character that no header can carry. Copy it again.',
    "more.2.token: can't be read: its function threw.",
    "more.3.token: isn't text: its function returns something else.",
    expect.stringMatching(/^free: The secret in .* can't be read: ENOENT/) as string,
  ]);
});

it('rereads a file that has changed, and trims it', async () => {
  const file = await secretFile(' one\n');
  const read = secret().parse({ file });
  expect(read()).toBe('one');
  await writeFile(file, 'two');
  await utimes(file, new Date(0), new Date(0));
  expect(read()).toBe('two');
});

it('reports which secret file can’t be read, as a retryable error', async () => {
  const file = await secretFile(' \n');
  const unavailable = (text: RegExp): unknown =>
    expect.objectContaining({ code: 'HEADGATE_SECRET_AWAITED', retryable: true, message: expect.stringMatching(text) as string });
  expect(secret().parse({ file })).toThrow(unavailable(/is empty/));
  expect(secret().parse({ file: `${file}-gone` })).toThrow(unavailable(/secret-gone can't be read: ENOENT/));
});

async function secretFile(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-secret-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'secret');
  await writeFile(file, text);
  return file;
}
