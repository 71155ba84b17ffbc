// `npm run lint`: no comment, message or document has words and openings that a reader from abroad has to read twice,
// and no line of code is longer than a screen is wide.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const plain = [
  "whoever: the caller, a reader",
  "beside: next to, besides",
  "so many: this many",
  "is told: hears, is reported",
  "of which: whose",
  "all the same: anyway, still",
  "by now: meanwhile",
  "goes on with: continues",
];
const out =
  "whoever|whatever comes|stands? (?:beside|still|in for)|is told|are told|tells? of|all the same|goes? on with|made alike|" +
  "nobody that|so many|so long as|of which|by now|of theirs|beside";
const words = new RegExp(`\\b(${out})\\b`, "i");

/** Words before the subject. In code at the beginning of a text or of a sentence in it. */
const opening = "(?:Of|By(?! default\\b)|Beside|So)(?= )";
const opens = new RegExp(`(?<=^|[.:!?] )${opening}`);
const opensInside = new RegExp(`(?<=[.:!?] )${opening}`);
const opensMessage = new RegExp(`(?<=["\`']|[.!?] )${opening}(?= [a-z])`);

const longest = 140;

const paths = execFileSync("git", ["ls-files", "src", "workshop", "bench", "scripts", "test/support", "*.md"], {
  encoding: "utf8",
})
  .split("\n")
  // Migrations are never changed.
  .filter((path) => /\.(tsx?|m?js|css|md)$/.test(path) && path !== "scripts/check-words.mjs");

/** Each line with its `prose` (empty for code), its `code`, and whether it begins a sentence. */
function linesOf(path, text) {
  let isInside = false;
  let isOpen = false;
  return text.split("\n").map((line) => {
    const bare = line.trim();
    if (path.endsWith(".md")) {
      if (bare.startsWith("```")) isInside = !isInside;
      const prose = isInside ? "" : bare.replace(/`[^`]*`/g, "`x`").replace(/^(?:[-*>|#]|\d+\.)\s+/, "");
      return { line, prose, isFirst: true };
    }
    const isComment = isInside || /^\{?(\/\/|\/\*)/.test(bare);
    if (isComment) isInside = (isInside || bare.includes("/*")) && !bare.includes("*/");
    const prose = isComment ? bare.replace(/^\{?(?:\/\/|\/?\*+)\/?\s?/, "") : "";
    const isFirst = !isOpen;
    isOpen = isComment && !/([.:!?]|\*\/)$/.test(bare) && prose !== "";
    return { line, prose, isFirst, code: isComment ? "" : bare };
  });
}

const found = paths.flatMap((path) =>
  linesOf(path, readFileSync(path, "utf8")).flatMap(({ line, prose, isFirst, code = "" }, index) => {
    const [word] = words.exec(prose) ?? [];
    const [start] = (isFirst ? opens : opensInside).exec(prose) ?? opensMessage.exec(code) ?? [];
    const isLong = line.length > longest && !/^test\/|\.md$/.test(path);
    const what =
      (word && `"${word}" is out`) ??
      (start && `a sentence begins with "${start}"`) ??
      (isLong ? `longer than ${longest} characters` : undefined);
    return what === undefined ? [] : [`${path}:${index + 1}: ${what}: ${line.trim()}`];
  }),
);
if (found.length > 0) {
  console.error(
    `${found.join("\n")}\nWrite a plain word in its place: ${plain.join("; ")}. ` +
      'Begin a sentence with its subject, not with Of, By, Beside or So; only "By default" may stay.',
  );
  process.exitCode = 1;
}
