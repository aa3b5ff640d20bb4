/** The words of each command in a script of pipes, lists and simple commands, without redirections. Throws if a quote isn't closed. */
export function shellCommands(script: string): string[][] {
  const commands: string[][] = [[]];
  let word: string | undefined;
  let isTarget = false;
  const endWord = (): void => {
    if (word !== undefined && !isTarget) commands.at(-1)?.push(word);
    if (word !== undefined) isTarget = false;
    word = undefined;
  };
  for (const [part] of script.matchAll(
    /\\\n|\\.|'[^']*'|"(?:\\.|[^"\\])*"|#[^\n]*|\d?[<>]{1,2}(?:&\d)?|[|&;\n]+|[ \t]+|[^\\'"#<>|&;\s]+|[\s\S]/g,
  )) {
    if (part === '\\\n' || /^[ \t]+$/.test(part)) endWord();
    else if (part.startsWith('#') && word === undefined) continue;
    else if (/^[|&;\n]/.test(part)) {
      endWord();
      commands.push([]);
    } else if (/^\d?[<>]/.test(part)) {
      endWord();
      isTarget = !part.includes('&');
    } else if (part === "'" || part === '"') throw new Error(`a quote has no end: ${script}`);
    else word = (word ?? '') + (/^['"]/.test(part) ? part.slice(1, -1) : part.replace(/^\\/, ''));
  }
  endWord();
  return commands.filter((command) => command.length > 0);
}
