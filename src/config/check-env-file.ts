import { parseEnv } from "node:util";
import type { ConfigProblem } from "./shape/problem-list.ts";

const assignment = /^\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=(.*)$/;

/**
 * Finds lines of a `.env` that Node reads differently than they look: it silently joins a line without `=` with the
 * next one. Repeats no value, since any may be secret. `isRelevant`: whether Tocsin reads the variable.
 */
export function checkEnvFile(text: string, isRelevant: (name: string) => boolean) {
  const problems: ConfigProblem[] = [];
  const warnings: ConfigProblem[] = [];
  const at = (line: number) => `.env:${line}`;
  if (/[\0\uFFFD]/.test(text)) {
    const instead = "save it as UTF-8 text (editors on Windows may write UTF-16)";
    problems.push({ where: at(1), message: "the file is not UTF-8 text", instead });
    return { problems, warnings };
  }
  const read = parseEnv(text);
  const lines = text.split(/\r\n|\n|\r/).map((line) => line.replace(/^\uFEFF/, ""));
  const lineOf = new Map<string, number>();
  /** A variable that is lost because of a reported line gets no report of its own. */
  let isReported = false;
  let isSwallowed = false;
  const report = (line: number, message: string, instead: string) => {
    problems.push({ where: at(line), message, instead });
    isReported = true;
  };
  for (let index = 0; index < lines.length; index += 1) {
    const content = lines[index] ?? "";
    if (content.trim() === "" || content.trim().startsWith("#")) continue;
    const line = index + 1;
    const wasReported = isReported;
    isReported = false;
    const [, name, rest = ""] = assignment.exec(content) ?? [];
    if (name === undefined) {
      const lost = /[^\s=].*=/.test(content) ? "it is not read" : "it and the line below are not read";
      report(line, `is not NAME=value, so ${lost}`, adviseOnLine(content));
      continue;
    }
    const earlier = lineOf.get(name);
    if (earlier !== undefined && isRelevant(name)) {
      const message = `${name} is set in line ${earlier} already; the later line holds`;
      warnings.push({ where: at(line), message, instead: "remove one of the two" });
    }
    lineOf.set(name, line);
    const end = endOfQuote(lines, index, rest.trim());
    index = end.line;
    isSwallowed ||= end.isOpen;
    if (end.isOpen) {
      const message = `${name}: the quote at its beginning is not closed in its line`;
      report(line, message, "end the value with the quote that it begins with");
      continue;
    }
    const odd = index + 1 === line && isRelevant(name) ? findOddity(rest.trim()) : undefined;
    if (odd !== undefined) report(line, `${name}: ${odd[0]}`, odd[1]);
    if (!isSwallowed && !wasReported && !Object.hasOwn(read, name)) {
      report(
        line,
        `${name} is not read`,
        "begin the line with the name: no tab, no invisible mark; a comment above it begins with # and no space",
      );
    }
  }
  return { problems, warnings };
}

function adviseOnLine(content: string): string {
  const yaml = /^\s*([A-Za-z_]\w*):(\s|$)/.exec(content)?.[1];
  if (yaml !== undefined) return `write ${yaml}=value, with = instead of the colon`;
  const spaced = /^\s*(?:set\s+|\$env:)?[A-Za-z_]\w*(?:\s+\w+)+\s*=/.test(content);
  return spaced ? "a name has no spaces; write NAME=value" : "write NAME=value, or begin a comment with #";
}

/** `line`: the index of the value's last line. `isOpen`: the quote is never closed, or only after other variables. */
function endOfQuote(lines: string[], start: number, rest: string): { line: number; isOpen: boolean } {
  const mark = /^["'`]/.exec(rest)?.[0];
  if (mark === undefined || rest.indexOf(mark, 1) > 0) return { line: start, isOpen: false };
  for (let index = start + 1; index < lines.length; index += 1) {
    const line = lines[index] ?? "";
    if (/^\s*(?:export\s+)?[A-Z_][A-Z0-9_]*\s*=[^=]/.test(line)) break;
    if (line.includes(mark)) return { line: index, isOpen: false };
  }
  return { line: start, isOpen: true };
}

/** A part of a one-line value that Node drops or keeps unexpectedly. */
function findOddity(rest: string): [message: string, instead: string] | undefined {
  const mark = /^["'`]/.exec(rest)?.[0];
  if (mark !== undefined) {
    const behind = rest.slice(rest.indexOf(mark, 1) + 1).trim();
    if (behind === "" || behind.startsWith("#")) return undefined;
    return ["what follows the closing quote is ignored", "put the whole value in quotes"];
  }
  if (/^[“”„‘’«]/.test(rest)) {
    return ["begins with a typographic quote, which becomes a part of the value", 'write plain quotes: "…"'];
  }
  if (/\S#/.test(rest) && !rest.startsWith("#")) {
    return ["everything from # on is left out", 'put the value in quotes: "…#…"; a comment needs a space before it'];
  }
  return undefined;
}
