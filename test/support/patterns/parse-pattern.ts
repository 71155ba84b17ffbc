/**
 * The parts of a JavaScript regular expression that matter for how long it can run. Sets are bits over `alphabet`: one
 * for each of the characters by which the patterns of this project can differ.
 */
export type PatternNode =
  | { kind: "set"; bits: bigint }
  | { kind: "sequence"; parts: PatternNode[] }
  | { kind: "choice"; options: PatternNode[] }
  | { kind: "repeat"; min: number; max: number; part: PatternNode }
  /** `^`, `$`, `\b`, a look-around. `before`: what may stand before the place; `body`: what is tried ahead of it. */
  | { kind: "assertion"; before?: bigint; body?: PatternNode };

const samples =
  "\u0085\u00a0\u00ad\u00e9\u00df\u0301\u030a\u0600\u200b\u2028\u2029\u202e\u2066\u20ac\u2212\u4f60\ud800\ufeff\uffff🚨";
export const alphabet: readonly string[] = [
  ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
  ...samples,
];
export const anything = (1n << BigInt(alphabet.length)) - 1n;
const lineEnds = setOf("[\\n\\r\\u2028\\u2029]", "");

function setOf(atom: string, flags: string): bigint {
  const one = new RegExp(`^(?:${atom})$`, flags.replace(/[^isu]/g, ""));
  return alphabet.reduce((bits, char, at) => (one.test(char) ? bits | (1n << BigInt(at)) : bits), 0n);
}

/**
 * Throws for what is not known here (back-references, look-behinds of more than one character): better refused than
 * overlooked.
 */
export function parsePattern(source: string, flags: string): PatternNode {
  let at = 0;

  function readChoice(): PatternNode {
    const options = [readSequence()];
    while (source[at] === "|") {
      at += 1;
      options.push(readSequence());
    }
    return options.length === 1 ? (options[0] as PatternNode) : { kind: "choice", options };
  }

  function readSequence(): PatternNode {
    const parts: PatternNode[] = [];
    while (at < source.length && source[at] !== "|" && source[at] !== ")") parts.push(readQuantified());
    return { kind: "sequence", parts };
  }

  function readQuantified(): PatternNode {
    const part = readAtom();
    const found = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(source.slice(at));
    if (found === null) return part;
    at += found[0].length;
    const [, sign, least = "0", comma, most = ""] = found;
    if (sign !== undefined)
      return { kind: "repeat", min: sign === "+" ? 1 : 0, max: sign === "?" ? 1 : Infinity, part };
    const min = Number(least);
    return { kind: "repeat", min, max: comma === "" ? min : most === "" ? Infinity : Number(most), part };
  }

  function readAtom(): PatternNode {
    const rest = source.slice(at);
    const group = /^\((\?:|\?=|\?!|\?<=|\?<!|\?<\w+>)?/.exec(rest);
    if (group !== null) return readGroup(group);
    if (take("^")) return { kind: "assertion", before: flags.includes("m") ? lineEnds : 0n };
    if (take("$") || take("\\b") || take("\\B")) return { kind: "assertion" };
    if (/^\\[1-9k]/.test(rest)) throw new Error(`a back-reference: /${source}/`);
    const atom =
      /^(?:\[(?:[^\]\\]|\\.)*\]|\\[pP]\{[^}]*\}|\\u\{[^}]*\}|\\u[\da-fA-F]{4}|\\x[\da-fA-F]{2}|\\.|[\s\S])/u.exec(rest);
    const text = atom?.[0] ?? "";
    at += text.length;
    return { kind: "set", bits: setOf(text, flags) };
  }

  function readGroup([open, how]: RegExpExecArray): PatternNode {
    at += open.length;
    const inner = readChoice();
    at += 1;
    if (how === "?=" || how === "?!") return { kind: "assertion", body: inner };
    if (how !== "?<=" && how !== "?<!") return inner;
    const only = inner.kind === "sequence" && inner.parts.length === 1 ? inner.parts[0] : undefined;
    if (only?.kind !== "set") throw new Error(`a look-behind of more than one character: /${source}/`);
    return { kind: "assertion", before: how === "?<=" ? only.bits : anything & ~only.bits };
  }

  function take(text: string): boolean {
    if (!source.startsWith(text, at)) return false;
    at += text.length;
    return true;
  }

  return readChoice();
}
