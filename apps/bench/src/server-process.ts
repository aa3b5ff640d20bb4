import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Starts a program of Node that serves `pages` pages and prints its port. The program ends when the result is disposed. */
export async function serverProcess(program: readonly string[], pages: number): Promise<Disposable & { readonly origin: string }> {
  const server = spawn(process.execPath, [...program, String(pages)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [port] = (await once(server.stdout, 'data')) as [Buffer];
  return { origin: `http://127.0.0.1:${Number(port.toString())}`, [Symbol.dispose]: () => void server.kill() };
}
