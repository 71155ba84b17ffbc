import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, type Scalar } from "yaml";
import { referTo } from "../../ground/shape/refusal.ts";
import { looksSecret } from "../../ground/shape/show-value.ts";
import { type ConfigPath, type ConfigProblem, formatPath, type Locate } from "./problem-list.ts";

/** A file taken apart into plain values, with the way back from each to its line. */
export interface YamlFile {
  /** Maps, lists, texts, numbers, booleans and null; `undefined` when the file is empty or cannot be read. */
  value: unknown;
  /** What is wrong with the file as YAML, and with its `${VAR}` references. */
  problems: ConfigProblem[];
  locate: Locate;
  /** Whether the text at this path comes, at least in part, from the environment. */
  isReference(path: ConfigPath): boolean;
  /** The values that came from the environment; any of them may be secret. */
  referencedValues: string[];
  /** The variables that the file refers to, set or not. */
  referencedNames: Set<string>;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Far more than any configuration has, and far less than a file of nested aliases can unfold to. */
const maxNodes = 20_000;
const maxDepth = 40;

const reference = /\$(\$?)\{([^}]*)\}/g;

/**
 * Reads YAML 1.2. In every text (not in keys) `${VAR}` is replaced by that environment variable and `$${` stands for a
 * plain `${`. Numbers under `match:` stay the text that was written: `1.10` keeps its zero, and an address `0xAb…` that
 * YAML takes for a hexadecimal number stays an address.
 */
export function readYamlFile(text: string, name: string, env: Env): YamlFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const problems: ConfigProblem[] = [];
  const references = new Set<string>();
  const referencedValues: string[] = [];
  const referencedNames = new Set<string>();
  let nodes = 0;

  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${name}:${line}:${col}`;
  };
  const whereOf = (node: Node): string => at(node.range?.[0] ?? 0);

  function toValue(node: unknown, path: ConfigPath): unknown {
    const resolved = isAlias(node) ? node.resolve(document) : node;
    nodes += 1;
    if (isAlias(node) && resolved === undefined) {
      problems.push({
        where: whereOf(node),
        path: formatPath(path),
        message: "there is no anchor of this name above",
        instead: "put a text that begins with * in quotes",
      });
    }
    if (nodes > maxNodes || path.length > maxDepth) return null;
    if (isMap(resolved)) {
      return Object.fromEntries(
        resolved.items.map((pair) => {
          const key = keyText(pair.key);
          return [key, toValue(pair.value, [...path, key])];
        }),
      );
    }
    if (isSeq(resolved)) return resolved.items.map((item, index) => toValue(item, [...path, index]));
    return isScalar(resolved) ? toScalarValue(resolved, path) : null;
  }

  function toScalarValue(scalar: Scalar, path: ConfigPath): unknown {
    const { value, source } = scalar;
    if (typeof value === "string") return substitute(value, path, scalar);
    if (typeof value === "number" && path.includes("match") && source !== undefined) return source;
    return value;
  }

  function substitute(text: string, path: ConfigPath, scalar: Scalar): string {
    const add = (message: string, instead: string): void => {
      problems.push({ where: whereOf(scalar), path: formatPath(path), message, instead });
    };
    if (looksSecret(text.replace(reference, ""))) {
      add(
        "a secret is written in the file",
        `put it in an environment variable and write \${NAME_OF_THE_VARIABLE} here`,
      );
    }
    return text.replace(reference, (whole, extraDollar: string, variable: string) => {
      if (extraDollar !== "") return whole.slice(1);
      references.add(formatPath(path));
      if (!/^[A-Za-z_]\w*$/.test(variable)) {
        add(
          `\${${variable}} does not name an environment variable`,
          `write ${referTo("NAME")} with letters, digits and _; write $${"${"} for a plain ${"${"}`,
        );
        return "";
      }
      referencedNames.add(variable);
      const found = env[variable]?.trim();
      if (found === undefined || found === "") {
        add(
          `the environment variable ${variable} is not set`,
          `set ${variable}, or write $\${ where a plain \${ is meant`,
        );
        return "";
      }
      referencedValues.push(found);
      return found;
    });
  }

  const locate: Locate = (path, part) => {
    let node: unknown = document.contents;
    let offset = isNode(node) ? (node.range?.[0] ?? 0) : 0;
    for (const [position, step] of path.entries()) {
      const container = isAlias(node) ? node.resolve(document) : node;
      const found = memberOf(container, step);
      if (found === undefined) break;
      const isLast = position === path.length - 1;
      offset = (isLast && part === "key" ? found.keyOffset : found.offset) ?? offset;
      node = found.node;
    }
    return at(offset);
  };

  for (const error of document.errors) {
    const where = at(error.pos[0]);
    const isTooDeep = error.message.includes("call stack");
    problems.push(
      isTooDeep
        ? { where, message: "its values are nested too deep to be read", instead: `nest at most ${maxDepth} levels` }
        : { where, message: `not YAML: ${error.message}`, instead: adviseOn(error.code) },
    );
  }
  const value = document.errors.length > 0 ? undefined : toValue(document.contents, []);
  const isTooMuch = nodes > maxNodes;
  if (isTooMuch) {
    problems.push({
      where: `${name}:1:1`,
      message: `the file has more than ${maxNodes.toLocaleString("en")} values, with those of aliases`,
      instead: "use fewer aliases, or shorter lists",
    });
  }
  return {
    // What was cut off would be refused as well, at places that are in order.
    value: isTooMuch ? undefined : (value ?? undefined),
    problems,
    locate,
    isReference: (path) => references.has(formatPath(path)),
    referencedValues,
    referencedNames,
  };
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

function isNode(value: unknown): value is Node {
  return isScalar(value) || isMap(value) || isSeq(value) || isAlias(value);
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
      return `check the indentation here and in the line above; put texts with special characters, and ${referTo("VARIABLE")} inside { } or [ ], in quotes`;
  }
}
