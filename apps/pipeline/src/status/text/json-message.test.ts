import { expect, it } from 'vitest';
import { jsonMessage } from './json-message.ts';

it('a log line is JSON whose long texts are cut, also within lists', () => {
  const long = 'a'.repeat(3_000);
  const line = jsonMessage('warn', 0, { event: 'attempt', key: long, of: { names: [long, 'b'] } }, 'words');
  const cut = `${'a'.repeat(2_000)}…`;
  expect(line.endsWith('\n')).toBe(true);
  expect(JSON.parse(line)).toEqual({
    level: 'warn',
    time: '1970-01-01T00:00:00.000Z',
    event: 'attempt',
    key: cut,
    of: { names: [cut, 'b'] },
    msg: 'words',
  });
});
