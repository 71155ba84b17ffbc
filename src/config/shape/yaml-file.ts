import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  Parser,
  parseDocument,
  type Scalar,
  visit,
} from "yaml";
import { groupThousands } from "../../ground/numbers/format-number.ts";
import { referTo } from "../../ground/shape/refusal.ts";
import { looksSecret } from "../../ground/shape/show-value.ts";
import type { Env } from "../variables.ts";
import { type ConfigPath, type ConfigProblem, formatPath, type Locate } from "./problem-list.ts";

/** Far more than any real configuration has, and far less than nested aliases can unfold to. */
const maxNodes = 20_000;
const maxDepth = 40;
/** Steps of the parser, several for each level. The reader is recursive, and a full stack may end the process. */
const maxSteps = 4 * maxDepth;

const reference = /\$(\$?)\{([^}]*)\}/g;

/**
 * YAML 1.2 as plain values. In texts, not in keys, `${VAR}` becomes that environment variable, and `$${` a plain `${`.
 * Numbers under `match:` stay as written: `1.10` keeps its zero, and `0xAb…` is no hexadecimal number.
 */
export class YamlFile {
  /** Maps, lists, texts, numbers, booleans and null. `undefined` for an empty or unreadable file. */
  readonly value: unknown;
  /** Mistakes of the YAML and of its `${VAR}` references. */
  readonly problems: ConfigProblem[] = [];
  /** Values from the environment. Any of them may be secret. */
  readonly referencedValues: string[] = [];
  /** The variables that the file refers to, set or not. */
  readonly referencedNames = new Set<string>();
  readonly #name: string;
  readonly #env?: Env;
  readonly #lines = new LineCounter();
  readonly #document: Document.Parsed;
  readonly #aliases: ReadonlyMap<Alias, Node>;
  readonly #references = new Set<string>();
  #nodes = 0;

  /** @param env absent: references are refused */
  constructor(text: string, name: string, env?: Env) {
    this.#name = name;
    this.#env = env;
    const tooDeepAt = findTooDeep(text, this.#lines);
    this.#document = parseDocument(tooDeepAt === undefined ? text : "", { prettyErrors: false });
    this.#aliases = resolveAliases(this.#document);
    const { errors, contents } = this.#document;
    if (tooDeepAt !== undefined) {
      const message = "its values are nested too deep to be read";
      this.problems.push({ where: this.#at(tooDeepAt), message, instead: `nest at most ${maxDepth} levels` });
    }
    for (const { message, code, pos } of errors)
      this.problems.push({ where: this.#at(pos[0]), message: `not YAML: ${message}`, instead: adviseOn(code) });
    const value = errors.length > 0 ? undefined : this.#toValue(contents, []);
    if (this.#nodes > maxNodes) {
      // The cut-off rest would cause further mistakes at correct places.
      this.problems.push({
        where: `${name}:1:1`,
        message: `the file has more than ${groupThousands(maxNodes)} values, with those of aliases`,
        instead: "use fewer aliases, or shorter lists",
      });
    } else this.value = value ?? undefined;
  }

  /** Whether the text at this path comes, at least in part, from the environment. */
  readonly isReference = (path: ConfigPath): boolean => this.#references.has(formatPath(path));

  readonly locate: Locate = (path, part) => {
    let node: unknown = this.#document.contents;
    let offset = isNode(node) ? (node.range?.[0] ?? 0) : 0;
    for (const [position, step] of path.entries()) {
      const found = memberOf(this.#resolve(node), step);
      if (found === undefined) break;
      const isLast = position === path.length - 1;
      offset = (isLast && part === "key" ? found.keyOffset : found.offset) ?? offset;
      node = found.node;
    }
    return this.#at(offset);
  };

  #at(offset: number): string {
    const { line, col } = this.#lines.linePos(offset);
    return `${this.#name}:${line}:${col}`;
  }

  #resolve(node: unknown): unknown {
    return isAlias(node) ? this.#aliases.get(node) : node;
  }

  #refuse(node: Node, path: ConfigPath, message: string, instead: string): void {
    this.problems.push({ where: this.#at(node.range?.[0] ?? 0), path: formatPath(path), message, instead });
  }

  #toValue(node: unknown, path: ConfigPath): unknown {
    const resolved = this.#resolve(node);
    this.#nodes += 1;
    if (isAlias(node) && resolved === undefined) {
      const instead = "put a text that begins with * in quotes";
      this.#refuse(node, path, "there is no anchor of this name above", instead);
    }
    if (this.#nodes > maxNodes || path.length > maxDepth) return null;
    if (isMap(resolved)) {
      return Object.fromEntries(
        resolved.items.map((pair) => {
          const key = keyText(pair.key);
          return [key, this.#toValue(pair.value, [...path, key])];
        }),
      );
    }
    if (isSeq(resolved)) return resolved.items.map((item, index) => this.#toValue(item, [...path, index]));
    if (!isScalar(resolved)) return null;
    const { value, source } = resolved;
    if (typeof value === "string") return this.#substitute(value, path, resolved);
    return typeof value === "number" && path.includes("match") && source !== undefined ? source : value;
  }

  #substitute(text: string, path: ConfigPath, scalar: Scalar): string {
    const add = (message: string, instead: string) => this.#refuse(scalar, path, message, instead);
    if (looksSecret(text.replace(reference, ""))) {
      const instead = `put it in an environment variable and write ${referTo("NAME_OF_THE_VARIABLE")} here`;
      add("a secret is written in the file", instead);
    }
    return text.replace(reference, (whole, extraDollar: string, variable: string) => {
      if (extraDollar !== "") return whole.slice(1);
      this.#references.add(formatPath(path));
      if (!/^[A-Za-z_]\w*$/.test(variable)) {
        add(
          `\${${variable}} does not name an environment variable`,
          `write ${referTo("NAME")} with letters, digits and _; write $${"${"} for a plain ${"${"}`,
        );
        return "";
      }
      this.referencedNames.add(variable);
      const found = this.#env?.[variable]?.trim() ?? "";
      if (this.#env === undefined)
        add(`\${${variable}} is not filled in here`, "write what it stands for, or try the file with tocsin backtest");
      else if (found === "") {
        const instead = `set ${variable}, or write $\${ where a plain \${ is meant`;
        add(`the environment variable ${variable} is not set`, instead);
      } else this.referencedValues.push(found);
      return found;
    });
  }
}

/** Fills `lines`. Undefined: the file is not too deep. */
function findTooDeep(text: string, lines: LineCounter): number | undefined {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    Array.from(parser.next(lexeme));
    if (parser.stack.length > maxSteps) return parser.offset;
  }
  return undefined;
}

/** The target is the last anchor of the name above the alias. The library walks the document for each alias. */
function resolveAliases(document: Document): Map<Alias, Node> {
  const anchors = new Map<string, Node>();
  const aliases = new Map<Alias, Node>();
  if (document.errors.length > 0) return aliases;
  visit(document, {
    Alias(_key, alias) {
      const anchored = anchors.get(alias.source);
      if (anchored !== undefined) aliases.set(alias, anchored);
    },
    Value(_key, node) {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
    },
  });
  return aliases;
}

interface Member {
  node: unknown;
  offset?: number;
  keyOffset?: number;
}

function memberOf(container: unknown, step: string | number): Member | undefined {
  if (isMap(container)) {
    const pair = container.items.find((candidate) => keyText(candidate.key) === step);
    if (pair === undefined) return undefined;
    const keyOffset = isNode(pair.key) ? pair.key.range?.[0] : undefined;
    const valueOffset = isNode(pair.value) ? pair.value.range?.[0] : undefined;
    return { node: pair.value, offset: valueOffset ?? keyOffset, keyOffset };
  }
  if (isSeq(container) && typeof step === "number") {
    const item = container.items[step];
    const offset = isNode(item) ? item.range?.[0] : undefined;
    return item === undefined ? undefined : { node: item, offset, keyOffset: offset };
  }
  return undefined;
}

function keyText(key: unknown): string {
  if (!isScalar(key)) return "";
  return typeof key.value === "string" ? key.value : (key.source ?? String(key.value));
}

function adviseOn(code: string): string {
  switch (code) {
    case "DUPLICATE_KEY":
      return "write each name once; the second would silently replace the first";
    case "TAB_AS_INDENT":
      return "indent with spaces";
    case "MULTIPLE_DOCS":
      return "remove the line --- that begins a second document";
    default:
      return (
        "check the indentation here and in the line above; put texts with special " +
        `characters, and ${referTo("VARIABLE")} inside { } or [ ], in quotes`
      );
  }
}
