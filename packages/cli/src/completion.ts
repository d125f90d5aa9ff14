import type { Command } from "./command.ts";
import type { OptionSpec } from "./options.ts";
import { optionsOf } from "./program.ts";

/** Shells that {@link completionScript} knows. */
export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** A command to complete. */
interface Entry {
  /** Name and aliases. */
  readonly names: readonly string[];
  readonly summary: string;
  readonly options: readonly (readonly [name: string, spec: OptionSpec<unknown>])[];
}

/** Returns a script that completes commands, options, values of options, and otherwise file names. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  const entries = commands.map((command) => ({
    names: [command.name, ...(command.aliases ?? [])],
    summary: command.summary,
    options: Object.entries(optionsOf(command)),
  }));
  return { bash, zsh, fish }[shell](entries);
}

/** All spellings of an option. */
function spellings(name: string, { short, aliases = [] }: OptionSpec<unknown>): readonly string[] {
  return [`--${name}`, ...(short === undefined ? [] : [`-${short}`]), ...aliases];
}

/** Lines of a shell's `case` that complete the values of options with a list of choices. */
function valueCases(entries: readonly Entry[], line: (pattern: string, words: string) => string): string {
  return entries
    .flatMap(({ names, options }) =>
      options.flatMap(([name, spec]) => {
        if (spec.choices === undefined) return [];
        const pattern = names.flatMap((command) => spellings(name, spec).map((option) => `"${command} ${option}"`)).join("|");
        return [line(pattern, spec.choices.join(" "))];
      }),
    )
    .join("\n");
}

function bash(entries: readonly Entry[]): string {
  const options = entries.map(
    ({ names, options: specs }) =>
      `      ${names.join("|")}) words="${specs.flatMap(([name, spec]) => spellings(name, spec)).join(" ")}" ;;`,
  );
  return `# centella completion bash >> ~/.bashrc
_centella() {
  local cur=\${COMP_WORDS[COMP_CWORD]} words=""
  if [[ $COMP_CWORD -eq 1 ]]; then
    words="${entries.flatMap(({ names }) => names).join(" ")} help"
  elif [[ $cur == -* ]]; then
    case \${COMP_WORDS[1]} in
${options.join("\n")}
    esac
  else
    case "\${COMP_WORDS[1]} \${COMP_WORDS[COMP_CWORD-1]}" in
${valueCases(entries, (pattern, words) => `      ${pattern}) words="${words}" ;;`)}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _centella centella
`;
}

function zsh(entries: readonly Entry[]): string {
  const described = (word: string, help: string): string => quoted(`${word.replaceAll(":", "\\:")}:${help}`);
  const options = entries.map(({ names, options: specs }) => {
    const words = specs.flatMap(([name, spec]) => spellings(name, spec).map((option) => described(option, spec.help)));
    return `      ${names.join("|")}) found=(${words.join(" ")}) ;;`;
  });
  return `#compdef centella
# centella completion zsh > "\${fpath[1]}/_centella"
_centella() {
  local -a found
  local first=$words[2] before=$words[CURRENT-1]
  if (( CURRENT == 2 )); then
    found=(${entries.flatMap(({ names, summary }) => names.map((name) => described(name, summary))).join(" ")})
    _describe command found
  elif [[ $words[CURRENT] == -* ]]; then
    case $first in
${options.join("\n")}
    esac
    _describe -o option found
  else
    case "$first $before" in
${valueCases(entries, (pattern, words) => `      ${pattern}) compadd ${words} ;;`)}
      *) _files ;;
    esac
  fi
}
if [[ $funcstack[1] == _centella ]]; then _centella "$@"; else compdef _centella centella; fi
`;
}

function fish(entries: readonly Entry[]): string {
  const all = entries.flatMap(({ names }) => names).join(" ");
  const lines = entries.flatMap(({ names, summary, options }) => [
    ...names.map((name) => `complete -c centella -n "not __fish_seen_subcommand_from ${all}" -f -a ${name} -d ${fishQuoted(summary)}`),
    ...options.map(([name, spec]) => {
      const written = spellings(name, spec).map((spelling) => {
        if (spelling.startsWith("--")) return `-l ${spelling.slice(2)}`;
        return spelling.length === 2 ? `-s ${spelling.slice(1)}` : `-o ${spelling.slice(1)}`;
      });
      const value = spec.value === undefined ? "" : spec.choices === undefined ? " -r" : ` -x -a "${spec.choices.join(" ")}"`;
      return `complete -c centella -n "__fish_seen_subcommand_from ${names.join(" ")}" ${written.join(" ")}${value} -d ${fishQuoted(spec.help)}`;
    }),
  ]);
  return `# centella completion fish > ~/.config/fish/completions/centella.fish\n${lines.join("\n")}\n`;
}

function fishQuoted(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`;
}

/** Quotes a text as one word of bash or zsh. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
