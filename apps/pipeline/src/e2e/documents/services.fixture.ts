import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startBooks, startFollowers } from '@headgate/sandbox';

const FREELY = { kind: 'rolling', limit: 1_000, windowMs: 1_000 } as const;
const ISSUES = [{ number: 1, title: 'one' }];
const COMMENTS = { comments: [{ id: '7', text: 'Same here.' }], next: null };
/** The body of the last page of comments or issues. With `?page=`, issues are in an object with `next: null`. */
const issuesAt = (url: string): string => {
  if (url.includes('/comments')) return JSON.stringify(COMMENTS);
  return JSON.stringify(url.includes('?page=') ? { issues: ISSUES, next: null } : ISSUES);
};

/** The services that the documents' examples name. */
export interface Services extends AsyncDisposable {
  /** Replaces `https://api.example.com` and `https://books.example.com` in a text with the addresses of these services. */
  pointed(text: string): string;
}

/** Starts one server with followers, issues and shops, and one with books. */
export async function startServices(): Promise<Services> {
  const followers = await startFollowers({ window: FREELY, users: { alpha: { followers: 12_000 }, beta: { followers: 7_000, id: '12' } } });
  const books = await startBooks({ window: FREELY });
  const api = createServer(({ url = '', headers }, response) => {
    const answer = async (): Promise<void> => {
      if (url.startsWith('/shops/')) return void response.end('["order 7"]');
      if (!url.startsWith('/1.1/')) return void response.end(url.startsWith('/repos/') ? issuesAt(url) : '{}');
      const { status, headers: own, body } = await fetch(followers.url + url, { headers: { authorization: headers.authorization ?? '' } });
      const text = await new Response(body).text();
      response.writeHead(status, { 'content-type': own.get('content-type') ?? '' }).end(text);
    };
    answer().catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
  return {
    pointed: (text) => text.replaceAll('https://api.example.com', address).replaceAll('https://books.example.com', books.url),
    async [Symbol.asyncDispose]() {
      api.closeAllConnections();
      await new Promise((resolve) => api.close(resolve));
      await Promise.all([followers.close(), books.close()]);
    },
  };
}
