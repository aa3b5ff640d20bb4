import { Complaint } from './complaint.ts';
import type { Secret } from './config.ts';
import { Leaf } from './leaf.ts';
import type { Tree } from './leaf.ts';
import { shown } from './problem.ts';
import type { ReadContext } from './read-context.ts';
import { single } from './schema-parts.ts';
import type { Schema } from './schema-parts.ts';
import { hide, warnOfPlainText } from './secrets.ts';

/** A service's address; no complaint repeats it, for it may hold what should not be there. */
export function readBaseUrl(text: string): string | Complaint {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') || !/^https?:\/\//i.test(text)) {
    return new Complaint('is not an address. Write it as in https://api.example.com.');
  }
  if (url.username !== '' || url.password !== '') {
    return new Complaint('holds a user name or password. Take it out: credentials have keys of their own.');
  }
  if (/[?#]/.test(text)) return new Complaint('holds a "?" or "#". Write the address alone, as in https://api.example.com.');
  return text.trim().replace(/\/+$/, '');
}

/** Whether a host, as an address has it, is this machine. */
export function isLoopback(host: string): boolean {
  return /^(?:(?:[\w-]+\.)*localhost\.?|127(?:\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}

export interface WarnOfPlainHttpOptions {
  readonly context: ReadContext;
  /** Where the address stands. */
  readonly tree: Tree | undefined;
  readonly baseUrl: string;
}

/** Says so where requests go to another machine without TLS. */
export function warnOfPlainHttp({ context, tree, baseUrl: address }: WarnOfPlainHttpOptions): void {
  const { protocol, hostname } = new URL(address);
  if (protocol !== 'http:' || isLoopback(hostname) || !(tree instanceof Leaf)) return;
  context.warn(
    tree,
    'http carries each request and its credential through the network in clear text. Write https, or allowPlainHttp: true beside it where that may be.',
  );
}

export function baseUrl({ example }: { readonly example: string }): Schema<string> {
  return single({ example, read: (leaf) => readBaseUrl(leaf.text ?? '') });
}

/** A proxy's address, empty where `false` stands; kept as a secret, for it may hold a password. */
export function proxy({ context }: { readonly context: ReadContext }): Schema<Secret> {
  const example = 'http://proxy.example.com:3128';
  return single({
    example,
    read: (leaf) => {
      if (leaf.value === false) return hide('');
      const url = URL.parse(leaf.text ?? '');
      if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
        return new Complaint(`is not a proxy's address. Write it as in ${example}, or false for none.`);
      }
      if (url.password !== '') warnOfPlainText({ context, leaf, variable: 'HTTPS_PROXY' });
      return hide(leaf.text ?? '');
    },
  });
}

/** `host:port` of one or, with commas, several brokers. */
export function readBrokers(leaf: Leaf): readonly string[] | Complaint {
  const brokers = (leaf.text ?? '').split(',').map((broker) => broker.trim());
  const wrong = brokers.some((broker) => {
    const [, port = '0'] = /^(?:\[[\da-f:.]+\]|[\w.-]+):(\d{1,5})$/i.exec(broker) ?? [];
    return Number(port) < 1 || Number(port) > 65_535;
  });
  return wrong ? new Complaint(`${shown(leaf.written)} is not host:port. Write it as in 127.0.0.1:9092.`) : brokers;
}
