// `npm run lint` runs it: words that a reader from abroad stumbles over are in no comment and in no document.
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

const paths = execFileSync("git", ["ls-files", "src", "workshop", "bench", "scripts", "*.md"], { encoding: "utf8" })
  .split("\n")
  // Migrations stay as they were run.
  .filter((path) => /\.(tsx?|m?js|css|md)$/.test(path) && path !== "scripts/check-words.mjs");

/** The lines that people read as prose: of a document all but code, of code the comments. */
function proseOf(path, text) {
  let isInside = false;
  return text.split("\n").map((line) => {
    const bare = line.trim();
    if (path.endsWith(".md")) {
      if (bare.startsWith("```")) isInside = !isInside;
      return isInside ? "" : bare.replace(/`[^`]*`/g, "");
    }
    const isComment = isInside || /^(\/\/|\/\*)/.test(bare);
    if (isComment) isInside = (isInside || bare.includes("/*")) && !bare.includes("*/");
    return isComment ? bare : "";
  });
}

const found = paths.flatMap((path) =>
  proseOf(path, readFileSync(path, "utf8")).flatMap((line, index) => {
    const [word] = words.exec(line) ?? [];
    return word === undefined ? [] : [`${path}:${index + 1}: "${word}" is out: ${line}`];
  }),
);
if (found.length > 0) {
  console.error(`${found.join("\n")}\nWrite a plain word in its place: ${plain.join("; ")}.`);
  process.exitCode = 1;
}
