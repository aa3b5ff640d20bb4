import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { contractChecks } from '../testing/index.ts';
import { sqliteTopicLog } from './index.ts';
import { temporaryFolder } from './temporary-folder.fixture.ts';

describe('the sqlite driver fulfills the contract', () => {
  it.each(contractChecks({ newcomer: 'refused' }).map((check) => [check.name, check] as const))('%s', async (_, check) => {
    const file = join(temporaryFolder(), 'log.db');
    await expect(check.run(() => sqliteTopicLog({ file }))).resolves.toBeUndefined();
  });
});
