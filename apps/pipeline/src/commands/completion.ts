import type { Command, Option } from 'commander';

export type Shell = 'bash' | 'zsh' | 'fish';

/** Words to offer for arguments and option values without fixed choices. A key is the name of a placeholder, such as `topic` for `<topic>`. */
export type Suggestions = Readonly<Record<string, readonly string[]>>;

/** Returns a shell script that completes a program's commands, options and values. If it has no words for a place, the shell offers files. */
export function completionScript(shell: Shell, program: Command, suggestions: Suggestions): string {
  const tree = treeOf(program, suggestions);
  switch (shell) {
    case 'bash':
      return bashScript(tree);
    case 'zsh':
      return zshScript(tree);
    case 'fish':
      return fishScript(tree);
  }
}

interface Word {
  readonly name: string;
  readonly description: string;
}

interface OptionWords {
  /** The names as they are typed: `-h`, `--help`. */
  readonly names: readonly string[];
  readonly description: string;
  readonly takesValue: boolean;
  /** Words to offer as the option's value; if there are none, files. */
  readonly values: readonly string[];
}

interface Tree {
  readonly program: string;
  readonly commands: readonly CommandWords[];
  readonly options: readonly OptionWords[];
}

interface CommandWords extends Word {
  readonly options: readonly OptionWords[];
  /** Words to offer as the command's first argument; if there are none, files. */
  readonly words: readonly string[];
}

function treeOf(program: Command, suggestions: Suggestions): Tree {
  const help = program.createHelp();
  const names = help.visibleCommands(program).map((command) => command.name());
  const commands = help.visibleCommands(program).map((command) => ({
    name: command.name(),
    description: command.description(),
    options: [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)].map(wordsOfOption),
    words: command.name() === 'help' ? names : firstArgument(command),
  }));
  return { program: program.name(), commands, options: help.visibleOptions(program).map(wordsOfOption) };

  function firstArgument({ registeredArguments: [first] }: Command): readonly string[] {
    return first?.argChoices ?? suggestions[first?.name() ?? ''] ?? [];
  }

  function wordsOfOption({ short, long, flags, description, required, optional, argChoices }: Option): OptionWords {
    const [, placeholder = ''] = /[<[](\w+)/.exec(flags) ?? [];
    const values = argChoices ?? suggestions[placeholder] ?? [];
    return { names: [short, long].filter((name) => name !== undefined), description, takesValue: required || optional, values };
  }
}

function bashScript({ program, commands, options }: Tree): string {
  const branches = commands.map(
    ({ name, options: own, words }) =>
      `    ${name}) valued=' ${names(valued(own))} ' values='${valuesOf(own)}' options='${names(own)}' words='${words.join(' ')}' ;;`,
  );
  return `# Completion of ${program} for bash: source <(${program} completion bash)
_${program}() {
  local current=\${COMP_WORDS[COMP_CWORD]} command= valued values options words value arguments=0 i
  local IFS=$' \\t\\n'
  valued=' ${names(valued(options))} ' values='${valuesOf(options)}' options='${names(options)}' words='${commands.map(({ name }) => name).join(' ')}'
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ $valued == *" \${COMP_WORDS[i]} "* ]]; then
      ((i++))
      if ((i == COMP_CWORD)); then
        # Without words it is a file, or what only its user knows.
        for value in $values; do
          [[ $value == "\${COMP_WORDS[i - 1]}="* ]] && value=\${value#*=} && COMPREPLY=($(compgen -W "\${value//,/ }" -- "$current"))
        done
        return
      fi
    elif [[ \${COMP_WORDS[i]} == -* ]]; then
      continue
    elif [[ -n $command ]]; then
      ((arguments++))
    else
      command=\${COMP_WORDS[i]}
      case $command in
${branches.map((branch) => `    ${branch}`).join('\n')}
        *) valued= values= options= words= ;;
      esac
    fi
  done
  ((arguments > 0)) && words=
  [[ $current == -* ]] && words=$options
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _${program} ${program}
`;
}

function zshScript({ program, commands, options }: Tree): string {
  const quoted = ({ name, description }: Word): string => singleQuoted(`${name.replaceAll(':', '\\:')}:${description}`);
  const optionLines = (of: readonly OptionWords[]): string => of.flatMap(wordsOf).map(quoted).join(' ');
  const branches = commands.map(
    ({ name, options: own, words }) =>
      `        (${name}) valued=(${names(valued(own))}) values=(${valuesOf(own)}) options=(${optionLines(own)}) choices=(${words.join(' ')}) ;;`,
  );
  return `#compdef ${program}
# Completion of ${program} for zsh: source <(${program} completion zsh)
_${program}() {
  local -a valued values options choices
  local command= i value arguments=0
  valued=(${names(valued(options))})
  values=(${valuesOf(options)})
  options=(${optionLines(options)})
  choices=(${commands.map(quoted).join(' ')})
  for ((i = 2; i < CURRENT; i++)); do
    if (( \${valued[(Ie)\${words[i]}]} )); then
      (( i++ ))
      if (( i == CURRENT )); then
        value=\${(M)values:#\${words[i - 1]}=*}
        choices=(\${(s:,:)value#*=})
        if (( $#choices > 0 )); then _describe value choices; else _files; fi
        return
      fi
    elif [[ \${words[i]} == -* ]]; then
      continue
    elif [[ -n $command ]]; then
      (( arguments++ ))
    else
      command=\${words[i]}
      case $command in
${branches.join('\n')}
        (*) valued=() values=() options=() choices=() ;;
      esac
    fi
  done
  if [[ \${words[CURRENT]} == -* ]]; then _describe -o option options
  elif (( arguments == 0 && $#choices > 0 )); then _describe command choices
  else _files
  fi
}
if [[ $funcstack[1] == _${program} ]]; then _${program} "$@"; else compdef _${program} ${program}; fi
`;
}

function fishScript({ program, commands, options }: Tree): string {
  const line = (condition: string, rest: string, description: string): string =>
    `complete -c ${program} -n ${singleQuoted(condition)} ${rest} -d ${singleQuoted(description)}`;
  const flags = ({ names: typed, takesValue, values }: OptionWords): string => {
    const words = typed.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
    const offered = values.length === 0 ? [] : [`-f -a ${singleQuoted(values.join(' '))}`];
    return [...words, ...(takesValue ? ['-r'] : []), ...offered].join(' ');
  };
  const at = `__${program}_at`;
  const branches = commands.map(({ name, options: own }) => `        case ${name}\n          set valued ${names(valued(own))}`);
  const lines = [
    ...commands.map(({ name, description }) => line(at, `-f -a ${name}`, description)),
    ...options.map((one) => line(at, flags(one), one.description)),
    ...commands.flatMap(({ name, options: own, words }) => [
      ...own.map((one) => line(`${at} ${name}`, flags(one), one.description)),
      ...(words.length === 0 ? [] : [line(`${at} ${name} 0`, `-f -a ${singleQuoted(words.join(' '))}`, '')]),
    ]),
  ];
  return `# Completion of ${program} for fish: ${program} completion fish | source
function ${at} --description 'Test whether this command, or none, is typed, with this number of arguments or any number'
  set -l valued ${names(valued(options))}
  set -l command
  set -l arguments 0
  set -l is_value 0
  set -l typed (commandline -opc)
  for word in $typed[2..-1]
    if test $is_value = 1
      set is_value 0
    else if contains -- $word $valued
      set is_value 1
    else if string match -q -- '-*' $word
      continue
    else if set -q command[1]
      set arguments (math $arguments + 1)
    else
      set command $word
      switch $word
${branches.join('\n')}
      end
    end
  end
  test "$command" = "$argv[1]"; and begin
    not set -q argv[2]; or test $arguments = $argv[2]
  end
end
${lines.join('\n')}
`;
}

function valued(options: readonly OptionWords[]): readonly OptionWords[] {
  return options.filter(({ takesValue }) => takesValue);
}

/** Words like `--format=ndjson,csv,parquet`, one for each name of each option with values. */
function valuesOf(options: readonly OptionWords[]): string {
  return options
    .flatMap(({ names: typed, values }) => (values.length === 0 ? [] : typed.map((name) => `${name}=${values.join(',')}`)))
    .join(' ');
}

function names(options: readonly OptionWords[]): string {
  return options.flatMap((one) => one.names).join(' ');
}

function wordsOf({ names, description }: OptionWords): readonly Word[] {
  return names.map((name) => ({ name, description }));
}

function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
