import { describe, expect, it } from 'vitest';
import { recordJsonSchema, recordSchemas } from './schemas.ts';

describe('recordSchemas', () => {
  const id = { user: '@alpha', crawl: 'followers.requests-0-7', page: 1, id: '8882581338626179201' };

  it('takes what is written and nothing that has lost digits', () => {
    expect(recordSchemas['followers.ids'].safeParse(id).success).toBe(true);
    expect(recordSchemas['followers.ids'].safeParse({ ...id, id: 8_882_581_338 }).success).toBe(false);
  });

  it('has a JSON Schema for each topic', () => {
    for (const topic of Object.keys(recordSchemas) as (keyof typeof recordSchemas)[]) {
      expect(recordJsonSchema(topic)).toMatchObject({ type: 'object', properties: expect.any(Object) as unknown });
    }
    expect(recordJsonSchema('followers.ids')).toMatchObject({ properties: { id: { type: 'string' } } });
  });
});
