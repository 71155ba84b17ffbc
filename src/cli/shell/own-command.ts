import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/**
 * How a person at this terminal calls Tocsin: `tocsin`, or `npx tocsin` or `node …/tocsin.js` where the PATH has none.
 *
 * @param script that runs now
 */
export function findOwnCommand(path: string | undefined, cwd: string, script: string): string {
  const folders = (path ?? "").split(delimiter);
  // npx and npm put these in front for the time of one command.
  const lasting = folders.filter((folder) => folder !== "" && !/[\\/]node_modules[\\/]\.bin[\\/]?$/.test(folder));
  if (lasting.some((folder) => existsSync(join(folder, "tocsin")))) return "tocsin";
  const isOfFolder = ["node_modules/.bin/tocsin", "bin/tocsin.js"].some((one) => existsSync(join(cwd, one)));
  return isOfFolder ? "npx tocsin" : `node ${script}`;
}

/** A text with commands of Tocsin in it, as the person can type them. In a text `tocsin` with a word behind is a command. */
export function asTyped(text: string, ownCommand: string): string {
  return ownCommand === "tocsin" ? text : text.replace(/(?<![\w./-])tocsin(?= [a-z])/g, () => ownCommand);
}
