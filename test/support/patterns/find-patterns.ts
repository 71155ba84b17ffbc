export interface FoundPattern {
  source: string;
  flags: string;
  line: number;
}

/** What a slash begins a division behind. */
const endsValue = /(?:[\w$)\]}"'`]|\+\+|--)$/;
const keywords = /(?:^|[^\w$.])(?:return|typeof|case|in|of|yield|await|else|do|throw|new|void)$/;

/** All literals of regular expressions in TypeScript, in their order. Knows comments, strings and templates. */
export function findPatterns(source: string): FoundPattern[] {
  const found: FoundPattern[] = [];
  let before = "";
  let line = 1;
  // Where a `}` leads back into a template.
  const templates: number[] = [];
  let depth = 0;
  for (let at = 0; at < source.length; ) {
    const token = tokenAt(source, at, before, templates.at(-1) === depth);
    const { text, kind } = token;
    if (kind === "pattern") {
      const end = text.lastIndexOf("/");
      found.push({ source: text.slice(1, end), flags: text.slice(end + 1), line });
    }
    if (kind === "opens") templates.push(depth);
    if (kind === "closes") templates.pop();
    if (kind === "code" && text === "{") depth += 1;
    if (kind === "code" && text === "}") depth -= 1;
    if (kind !== "blank") before = kind === "code" ? (before + text).slice(-20) : '"';
    if (kind === "opens" || kind === "resumes") before = "(";
    if (kind === "blank" && /[\w$]$/.test(before)) before += " ";
    line += text.split("\n").length - 1;
    at += text.length;
  }
  return found;
}

interface Token {
  text: string;
  /** `opens`: a template up to its first `${`; `resumes`: from `}` to the next; `closes`: from `}` to its end. */
  kind: "code" | "blank" | "string" | "pattern" | "opens" | "resumes" | "closes";
}

function tokenAt(source: string, at: number, before: string, inTemplate: boolean): Token {
  const rest = source.slice(at, at + 20_000);
  const blank = /^(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)/.exec(rest)?.[0];
  if (blank !== undefined) return { text: blank, kind: "blank" };
  const string = /^(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')/.exec(rest)?.[0];
  if (string !== undefined && !inMarkup(before, string)) return { text: string, kind: "string" };
  if (rest.startsWith("`") || (inTemplate && rest.startsWith("}"))) {
    const text = /^[`}](?:[^`\\$]|\\[\s\S]|\$(?!\{))*(?:`|\$\{)/.exec(rest)?.[0] ?? rest.slice(0, 1);
    const ends = text.endsWith("`") && text.length > 1;
    if (rest.startsWith("`")) return { text, kind: ends ? "string" : "opens" };
    return { text, kind: ends ? "closes" : "resumes" };
  }
  const trimmed = before.trimEnd();
  const mayBePattern = !endsValue.test(trimmed) || keywords.test(trimmed);
  const pattern = /^\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/.exec(rest)?.[0];
  // `</p>` and `<br />` of JSX.
  if (pattern !== undefined && mayBePattern && !trimmed.endsWith("<")) return { text: pattern, kind: "pattern" };
  return { text: rest.slice(0, 1), kind: "code" };
}

/** An apostrophe in the text of JSX opens no string; none of those texts has two on a line. */
function inMarkup(before: string, string: string): boolean {
  return string.startsWith("'") && /[\w>]$/.test(before) && !/[=(]$/.test(before);
}
