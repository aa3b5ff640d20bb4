/** A bar of `width` characters, `share` (0 to 1) of it filled; empty only at 0, full only at 1. */
export function bar(share: number, width: number): string {
  const filled = filledCells(share, width);
  return '█'.repeat(filled) + '░'.repeat(width - filled);
}

function filledCells(share: number, width: number): number {
  if (!(share > 0) || width <= 0) return 0;
  if (share >= 1) return width;
  return Math.max(Math.min(1, width - 1), Math.min(width - 1, Math.round(share * width)));
}
