import { Agent } from 'node:http';
import { importPeer } from '../install/import-peer.ts';
import { PATH, query, type Walker, type WirePage } from './walker.ts';

interface Got {
  readonly default: {
    extend(options: object): { get(url: string, options: { readonly searchParams: object }): { json(): Promise<WirePage> } };
  };
}

export async function gotWalker(folder: string, origin: string): Promise<Walker> {
  const { default: got } = await importPeer<Got>(folder, 'got');
  const client = got.extend({ agent: { http: new Agent({ keepAlive: true }) }, headers: { authorization: 'Bearer token' } });
  return walkBy((cursor) => client.get(origin + PATH, { searchParams: query(cursor) }).json());
}

interface Axios {
  readonly default: {
    create(options: object): { get(url: string, options: { readonly params: object }): Promise<{ readonly data: WirePage }> };
  };
}

export async function axiosWalker(folder: string, origin: string): Promise<Walker> {
  const { default: axios } = await importPeer<Axios>(folder, 'axios');
  const headers = { authorization: 'Bearer token' };
  const client = axios.create({ baseURL: origin, httpAgent: new Agent({ keepAlive: true }), headers, proxy: false });
  return walkBy(async (cursor) => (await client.get(PATH, { params: query(cursor) })).data);
}

interface TwitterApi {
  readonly TwitterApi: new (
    token: string,
    settings: object,
  ) => {
    readonly v1: { setPrefix(prefix: string): void; get(endpoint: string, query: object): Promise<WirePage> };
  };
}

/** twitter-api-v2 sends requests with https. With an agent for http, it can reach the http server on this machine. */
export async function twitterApiWalker(folder: string, origin: string): Promise<Walker> {
  const { TwitterApi } = await importPeer<TwitterApi>(folder, 'twitter-api-v2');
  const { v1 } = new TwitterApi('token', { httpAgent: new Agent({ keepAlive: true }) });
  v1.setPrefix(`${origin}/1.1/`);
  return walkBy((cursor) => v1.get('followers/ids.json', query(cursor)));
}

function walkBy(ask: (cursor: string) => Promise<WirePage>): Walker {
  return async () => {
    let ids = 0;
    for (let cursor = '-1'; cursor !== '0';) {
      const page = await ask(cursor);
      ids += page.ids.length;
      cursor = page.next_cursor_str;
    }
    return ids;
  };
}
