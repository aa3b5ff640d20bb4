export interface TableOptions {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Whether to write Markdown. Default: false, for aligned plain text. */
  readonly markdown?: boolean;
}

/** A table as text. In plain text, all columns but the first two are aligned right. */
export function textTable({ head, rows, markdown = false }: TableOptions): string {
  if (markdown) return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => (i < 2 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  return [head, widths.map((width) => '-'.repeat(width)), ...rows].map(line).join('\n');
}
