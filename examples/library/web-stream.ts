import type { FollowerPage, Followers } from '@headgate/sources/followers';

export interface FollowersResponseOptions {
  readonly api: Followers;
  readonly screenName: string;
}

/**
 * A user's followers as the response of a web server, one ID per line, with gzip. A slow client slows the requests down. If the client
 * disconnects, the request in flight is aborted.
 */
export function followersResponse({ api, screenName }: FollowersResponseOptions): Response {
  const lines = new TransformStream<FollowerPage, string>({
    transform: ({ ids }, controller) => controller.enqueue(ids.map((id) => `${id}\n`).join('')),
  });
  const body = ReadableStream.from(api.pages({ screenName }))
    .pipeThrough(lines)
    .pipeThrough(new TextEncoderStream())
    .pipeThrough(new CompressionStream('gzip'));
  return new Response(body, { headers: { 'content-type': 'text/plain; charset=utf-8', 'content-encoding': 'gzip' } });
}
