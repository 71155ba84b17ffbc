import type { Command, Option } from "commander";
import type { AskedNames, Shell } from "./completion.ts";

/** One command with what may be typed behind it. Its path has no spaces at its ends: `tocsin alerts list`. */
interface Place {
  path: string;
  /** Subcommands, and the choices of an argument. */
  words: Word[];
  options: Flag[];
  /** Names that stand as an argument. */
  names?: AskedNames;
}

interface Word {
  word: string;
  about: string;
}

interface Flag {
  /** As typed: `-n`, `--lines`. */
  spellings: string[];
  about: string;
  /** Absent: it takes no value. */
  value?: { choices: readonly string[]; names?: AskedNames };
}

/**
 * A script for one shell, made from the commands themselves. It holds all but the names of the configuration, for which
 * it runs `tocsin completion … --names …`; where nothing of ours fits, files are completed.
 */
export function writeScript(program: Command, shell: Shell): string {
  const places = listPlaces(program, program.name(), []);
  switch (shell) {
    case "bash":
      return writeBash(places);
    case "zsh":
      return writeZsh(places);
    case "fish":
      return writeFish(places);
    default:
      return shell satisfies never;
  }
}

function listPlaces(command: Command, path: string, inherited: readonly Option[]): Place[] {
  const options = [...inherited, ...command.options.filter(({ hidden }) => !hidden)];
  const subcommands = command.commands.map((each) => ({ word: each.name(), about: firstClause(each.description()) }));
  const choices = command.registeredArguments.flatMap(({ argChoices = [], description }) =>
    argChoices.map((word) => ({ word, about: description })),
  );
  const named = command.registeredArguments.some((argument) => argument.name() === "name");
  const place: Place = {
    path,
    words: [...subcommands, ...choices],
    options: [...options.map(toFlag), { spellings: ["-h", "--help"], about: "explain this command" }],
    // Of all arguments called <name>, only these are destinations.
    names: named && path === "tocsin destinations try" ? "destinations" : undefined,
  };
  const global = command.parent === null ? command.options.filter(({ long }) => long !== "--version") : inherited;
  return [place, ...command.commands.flatMap((each) => listPlaces(each, `${path} ${each.name()}`, global))];
}

function toFlag(option: Option): Flag {
  const spellings = [option.short, option.long].filter((name) => name !== undefined);
  const about = firstClause(option.description);
  if (!option.required && !option.optional) return { spellings, about };
  return { spellings, about, value: { choices: option.argChoices ?? [], names: namesOf(option) } };
}

function namesOf({ long, flags }: Option): AskedNames | undefined {
  if (long === "--destination" || /^--to <(?:name|destination)>$|^--expect /.test(flags)) return "destinations";
  return long === "--source" ? "sources" : undefined;
}

/** Shells show it beside the word. */
function firstClause(text: string): string {
  return text.split(/[:;,(]/, 1)[0]?.trim() ?? "";
}

/** For bash and zsh: single quotes. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function wordsOf({ words, options }: Place): string[] {
  return [...words.map(({ word }) => word), ...options.flatMap(({ spellings }) => spellings)];
}

/** `tocsin alerts list --severity`, for every option that takes a value. */
function valuesOf(places: readonly Place[]): { keys: string[]; value: NonNullable<Flag["value"]> }[] {
  return places.flatMap(({ path, options }) =>
    options.flatMap(({ spellings, value }) =>
      value === undefined ? [] : [{ keys: spellings.map((spelling) => `${path} ${spelling}`), value }],
    ),
  );
}

/** The lines that name the places which the words before the cursor may lead into, for `case`. */
function ways(places: readonly Place[]): string {
  return places
    .slice(1)
    .map(({ path }) => quote(path))
    .join("|");
}

function writeBash(places: readonly Place[]): string {
  const values = valuesOf(places).map(({ keys, value: { choices, names } }) => {
    const words =
      names === undefined ? quote(choices.join(" ")) : `"$(tocsin completion bash --names ${names} 2>/dev/null)"`;
    return `    ${keys.map(quote).join("|")}) words=${words} ;;\n`;
  });
  const rest = places.map((place) => {
    const asked = place.names === undefined ? "" : `" $(tocsin completion bash --names ${place.names} 2>/dev/null)"`;
    return `    ${quote(place.path)}) words=${quote(wordsOf(place).join(" "))}${asked} ;;\n`;
  });
  return `# bash completion for tocsin; install it with: source <(tocsin completion bash)
_tocsin() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} place=tocsin word at words=
  # bash takes "--option=value" apart.
  if [[ $current == = ]]; then current=
  elif [[ $before == = ]]; then before=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((at = 1; at < COMP_CWORD; at++)); do
    word="$place \${COMP_WORDS[at]}"
    case $word in
    ${ways(places)}) place=$word ;;
    esac
  done
  case "$place $before" in
${values.join("")}    *)
      case $place in
${rest.join("")}      esac
      ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _tocsin tocsin
`;
}

function writeZsh(places: readonly Place[]): string {
  const pair = (word: string, about: string) => quote(`${word.replaceAll(":", "\\:")}:${about}`);
  const values = valuesOf(places).map(({ keys, value: { choices, names } }) => {
    const words =
      names === undefined
        ? choices.length === 0
          ? "_files"
          : `compadd -- ${choices.map(quote).join(" ")}`
        : `compadd -- \${(f)"$(tocsin completion zsh --names ${names} 2>/dev/null)"}`;
    return `    ${keys.map(quote).join("|")}) ${words}; return ;;\n`;
  });
  const rest = places.map(({ path, words, options, names }) => {
    const pairs = [
      ...words.map(({ word, about }) => pair(word, about)),
      ...options.flatMap(({ spellings, about }) => spellings.map((spelling) => pair(spelling, about))),
    ];
    const asked = names === undefined ? "" : ` \${(f)"$(tocsin completion zsh --names ${names} 2>/dev/null)"}`;
    return `    ${quote(path)}) words_here=(${pairs.join(" ")}${asked}) ;;\n`;
  });
  return `#compdef tocsin
# zsh completion for tocsin; install it with: source <(tocsin completion zsh)
_tocsin() {
  local place=tocsin word at
  local -a words_here
  for ((at = 2; at < CURRENT; at++)); do
    word="$place \${words[at]}"
    case $word in
    ${ways(places)}) place=$word ;;
    esac
  done
  case "$place \${words[CURRENT-1]}" in
${values.join("")}  esac
  case $place in
${rest.join("")}  esac
  _describe -t commands 'tocsin' words_here || _files
}
compdef _tocsin tocsin
`;
}

function writeFish(places: readonly Place[]): string {
  const quoteFish = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const ask = (names: AskedNames) => `'(tocsin completion fish --names ${names} 2>/dev/null)'`;
  const lines = places.flatMap(({ path, words, options, names }) => {
    const here = `complete -c tocsin -n ${quoteFish(`__tocsin_at ${quoteFish(path)}`)}`;
    const flags = options.map(({ spellings, about, value }) => {
      const spelled = spellings.map((spelling) =>
        spelling.startsWith("--") ? `-l ${spelling.slice(2)}` : `-s ${spelling.slice(1)}`,
      );
      const choices = value?.names === undefined ? quoteFish(value?.choices.join(" ") ?? "") : ask(value.names);
      const taken = value === undefined ? "" : choices === "''" ? " -r" : ` -x -a ${choices}`;
      return `${here} ${spelled.join(" ")}${taken} -d ${quoteFish(about)}`;
    });
    return [
      ...words.map(({ word, about }) => `${here} -f -a ${quoteFish(word)} -d ${quoteFish(about)}`),
      ...(names === undefined ? [] : [`${here} -f -a ${ask(names)}`]),
      ...flags,
    ];
  });
  return `# fish completion for tocsin; install it with: tocsin completion fish > ~/.config/fish/completions/tocsin.fish
function __tocsin_at
  set -l place tocsin
  for word in (commandline -opc)[2..-1]
    if contains -- "$place $word" ${places
      .slice(1)
      .map(({ path }) => quoteFish(path))
      .join(" ")}
      set place "$place $word"
    end
  end
  test "$place" = "$argv[1]"
end
${lines.join("\n")}
`;
}
