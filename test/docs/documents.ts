import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../", import.meta.url));

/** A file of the repository, as text. */
export const readText = (path: string): string => readFileSync(`${root}${path}`, "utf8");

/** Paths of the documents that people read, the README first. */
export const documentPaths = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  ...readdirSync(`${root}docs`, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`)
    .sort(),
];

/** The fenced blocks of a language (`""` for those without one), without the indentation of the list they stand in. */
export function codeBlocks(markdown: string, language: string): string[] {
  const fence = /^( *)```(\w*)\n([\s\S]*?)^\1```$/gm;
  return [...markdown.matchAll(fence)]
    .filter(([, , given]) => given === language)
    .map(([, indent = "", , text = ""]) => text.replace(new RegExp(`^${indent}`, "gm"), ""));
}

/** What stands between single backticks, outside of fenced blocks. */
export function codeSpans(markdown: string): string[] {
  const prose = markdown.replace(/^ *```[\s\S]*?^ *```$/gm, "");
  return [...prose.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text.replace(/\s+/g, " "));
}

/** The rows of the table whose header begins with this cell; each cell is trimmed. */
export function tableRows(markdown: string, firstHeader: string): string[][] {
  const table = new RegExp(`^\\| ${firstHeader} \\|.*\\n\\|[-|]+\\n((?:\\|.*\\n)+)`, "gm");
  return [...markdown.matchAll(table)].flatMap(([, rows = ""]) =>
    rows
      .trim()
      .split("\n")
      .map((row) =>
        row
          .slice(1, -1)
          .split(" | ")
          .map((cell) => cell.trim()),
      ),
  );
}
