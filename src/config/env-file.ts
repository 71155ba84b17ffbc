import { readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { AppError } from "../core/errors.ts";
import { replaceFile } from "../ground/files/replace-file.ts";

export type EnvFileChange = Awaited<ReturnType<typeof planEnvFile>>;

/** @throws AppError `failed` for a file that cannot be read, or a value that cannot be written as it is */
export async function planEnvFile(cwd: string, values: Readonly<Record<string, string>>) {
  // A link counts as its target.
  const path = await realpath(join(cwd, ".env")).catch(() => join(cwd, ".env"));
  const old = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw toFailure(`${path} cannot be read`, "its permissions", error);
  });
  const before = parseEnv(old);
  const changed = Object.entries(values).filter(([name, value]) => before[name] !== value);
  const text = changed.reduce((lines, [name, value]) => setLine(lines, name, value), old);
  const wanted = { ...before, ...values };
  const read = parseEnv(text);
  const names = [...new Set([...Object.keys(wanted), ...Object.keys(read)])];
  const wrong = names.find((name) => read[name] !== wanted[name]);
  if (wrong !== undefined) {
    throw new AppError("failed", `${path} cannot be changed safely: ${wrong} would be read as something else`, {
      hint: "look at it with: tocsin check; or move it away and run this again. Nothing was changed",
    });
  }
  return {
    path,
    /** The present text. Empty without a file. */
    before,
    /** The whole new text: only the lines of changed variables differ. */
    text,
    isSame: changed.length === 0,
  };
}

/** @throws AppError `failed`, with the file unchanged. */
export async function writeEnvFile({ path, text }: EnvFileChange): Promise<void> {
  await replaceFile(path, text).catch((error: NodeJS.ErrnoException) => {
    throw toFailure(`${path} cannot be written`, "the permissions of its folder", error);
  });
}

function toFailure(what: string, look: string, cause: NodeJS.ErrnoException): AppError {
  const hint = `check ${look}; nothing was changed`;
  return new AppError("failed", `${what} (${cause.code ?? "unknown"})`, { hint, cause });
}

/** Replaces the last line of the variable, which is the effective one. Otherwise adds a line at the end. */
function setLine(text: string, name: string, value: string): string {
  const lines = text.split("\n");
  const withoutLead = (line: string) => line.replace(leadOfLine, "");
  const at = lines.findLastIndex((line) => withoutLead(line).startsWith(`${name}=`));
  const line = `${name}=${quoteValue(name, value)}`;
  if (at === -1) return `${text === "" || text.endsWith("\n") ? text : `${text}\n`}${line}\n`;
  const old = lines[at] ?? "";
  const lead = leadOfLine.exec(old)?.[0] ?? "";
  lines[at] = `${lead}${line}${commentBehind(withoutLead(old).slice(name.length + 1))}`;
  return lines.join("\n");
}

const leadOfLine = /^\s*(?:export\s+)?/;

/** The comment after a value, with the blanks before it. A `#` without a blank may belong to the old value. */
function commentBehind(value: string): string {
  const start = value.search(/\S/);
  const mark = value.charAt(start);
  const end = `"'\``.includes(mark) && mark !== "" ? value.indexOf(mark, start + 1) : -1;
  const rest = end === -1 ? value : value.slice(end + 1);
  return /\s+#.*$/.exec(rest)?.[0] ?? "";
}

function quoteValue(name: string, value: string): string {
  if (/^[\w:/@.,%+=~&?!*-]*$/.test(value)) return value;
  const mark = ["'", '"', "`"].find((quote) => !value.includes(quote));
  if (mark !== undefined && !/[\n\r\\]/.test(value)) return `${mark}${value}${mark}`;
  throw new AppError("failed", `${name} holds characters that no line of .env can carry`, {
    hint: "give it a value without line breaks, backslashes or all three kinds of quotes",
  });
}
