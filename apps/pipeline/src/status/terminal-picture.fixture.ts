const CELL = { width: 8.4, height: 19 };
const MARGIN = 16;
const STYLE = [
  'text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre;fill:#1f2328}',
  '.back{fill:#f6f8fa;stroke:#d1d9e0}.bar{fill:#0969da}.wait{fill:#7d4e00}.done{fill:#116329}',
  '@media(prefers-color-scheme:dark){text{fill:#e6edf3}.back{fill:#0d1117;stroke:#3d444d}.bar{fill:#58a6ff}.wait{fill:#e3b341}.done{fill:#56d364}}',
].join('');

/** The lines of a terminal as an SVG whose text can be selected, in colors for light and dark pages. */
export function terminalPicture(lines: readonly string[]): string {
  const columns = Math.max(...lines.map((line) => line.length));
  const [width, height] = [Math.ceil(columns * CELL.width) + 2 * MARGIN, lines.length * CELL.height + 2 * MARGIN];
  const rows = lines.flatMap((line, row) => {
    if (line === '') return [];
    const place = `x="${MARGIN}" y="${MARGIN + 14 + row * CELL.height}" textLength="${(line.length * CELL.width).toFixed(1)}"`;
    return [`<text ${place} lengthAdjust="spacingAndGlyphs" xml:space="preserve">${colored(escaped(line))}</text>`];
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>A run of Headgate in a terminal</title>
<style>${STYLE}</style>
<rect class="back" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>
${rows.join('\n')}
</svg>
`;
}

/** The lines in a picture by `terminalPicture`, without empty ones. */
export function linesOfPicture(svg: string): readonly string[] {
  const texts = Array.from(svg.matchAll(/<text[^>]*>(.*)<\/text>/gu), ([, text = '']) => text.replaceAll(/<[^>]+>/gu, ''));
  return texts.map((text) => text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'));
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function colored(line: string): string {
  return line
    .replaceAll(/[█░]+/gu, '<tspan class="bar">$&</tspan>')
    .replace(/(?:waits for|next at|&lt;- ).*$/u, '<tspan class="wait">$&</tspan>')
    .replace(/(?<= )done$/u, '<tspan class="done">$&</tspan>');
}
