import { bearer } from '@headgate/auth';
import { followers } from '@headgate/sources/followers';
import { Agent, request } from 'undici';
import { PATH, query, type Walker, type WirePage } from './walker.ts';

/** The minimum work of a crawl: `undici.request`, `JSON.parse`, and the next cursor. */
export function bareWalker(origin: string): Walker {
  const dispatcher = new Agent();
  return async () => {
    let ids = 0;
    for (let cursor = '-1'; cursor !== '0';) {
      const url = `${origin}${PATH}?${new URLSearchParams(query(cursor)).toString()}`;
      const { body } = await request(url, { dispatcher, headers: { authorization: 'Bearer token' } });
      const page = JSON.parse(await body.text()) as WirePage;
      ids += page.ids.length;
      cursor = page.next_cursor_str;
    }
    return ids;
  };
}

/** Headgate with a budget that never runs out. */
export function headgateWalker(origin: string): Walker {
  const api = followers({
    baseUrl: origin,
    credentials: [{ name: 'app', signer: bearer('token') }],
    limit: { requests: 1_000_000, windowMs: 1_000 },
    env: {},
  });
  return async () => {
    let ids = 0;
    for await (const page of api.pages({ screenName: 'alpha' })) ids += page.ids.length;
    return ids;
  };
}
