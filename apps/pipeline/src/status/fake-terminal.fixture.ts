import { Writable } from 'node:stream';

/** A stream that keeps what is written to it, one entry per write. */
export class FakeTerminal extends Writable {
  readonly writes: string[] = [];
  readonly isTTY: boolean;
  columns: number;
  rows: number;

  constructor(options: { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number } = {}) {
    super({ decodeStrings: false });
    this.isTTY = options.isTTY ?? false;
    this.columns = options.columns ?? 80;
    this.rows = options.rows ?? 24;
  }

  override _write(chunk: unknown, _encoding: string, done: () => void): void {
    this.writes.push(String(chunk));
    done();
  }

  get text(): string {
    return this.writes.join('');
  }

  get lines(): string[] {
    return this.text.split('\n').slice(0, -1);
  }

  /** The screen after all writes. Obeys the escape sequences that a redraw uses. */
  screen(): string[] {
    const lines: string[] = [''];
    let row = 0;
    let column = 0;
    // eslint-disable-next-line no-control-regex
    for (const [token, count, command] of this.text.matchAll(/\u001B\[([?\d;]*)([A-Za-z])|\n|[^\u001B\n]+/g)) {
      const n = count === undefined || count === '' ? 1 : Number(count);
      if (token === '\n') {
        row += 1;
        column = 0;
      } else if (command === undefined) {
        const line = (lines[row] ?? '').padEnd(column);
        lines[row] = line.slice(0, column) + token + line.slice(column + token.length);
        column += token.length;
      } else if (command === 'A') row = Math.max(0, row - n);
      else if (command === 'B') row += n;
      else if (command === 'G') column = n - 1;
      else if (command === 'K') lines[row] = count === '2' ? '' : (lines[row] ?? '').slice(0, column);
      else if (!'hlm'.includes(command)) throw new Error(`an escape sequence nobody sent: ${JSON.stringify(token)}`);
      lines[row] ??= '';
    }
    return lines.map((line) => line.trimEnd());
  }
}
