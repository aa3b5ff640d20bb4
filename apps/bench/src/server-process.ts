import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Starts a server program, which takes options as JSON and prints its port. The program ends when the result is disposed. */
export async function serverProcess(program: readonly string[], options: object): Promise<Disposable & { readonly origin: string }> {
  const [command = process.execPath, ...args] = program;
  const server = spawn(command, [...args, JSON.stringify(options)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [port] = (await once(server.stdout, 'data')) as [Buffer];
  return { origin: `http://127.0.0.1:${Number(port.toString())}`, [Symbol.dispose]: () => void server.kill() };
}
