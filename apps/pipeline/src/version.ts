import { readFileSync } from 'node:fs';

export function version(): string {
  const text = readFileSync(new URL(import.meta.resolve('headgate/package.json')), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
