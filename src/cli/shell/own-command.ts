import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** `tocsin`, or `npx tocsin` or `node …/tocsin.js` where the PATH has none. */
export function findOwnCommand(path: string | undefined, cwd: string, script: string): string {
  const folders = (path ?? "").split(delimiter);
  // npx and npm add these folders in front for the time of one command.
  const lasting = folders.filter((folder) => folder !== "" && !/[\\/]node_modules[\\/]\.bin[\\/]?$/.test(folder));
  if (lasting.some((folder) => existsSync(join(folder, "tocsin")))) return "tocsin";
  const isOfFolder = ["node_modules/.bin/tocsin", "bin/tocsin.js"].some((one) => existsSync(join(cwd, one)));
  return isOfFolder ? "npx tocsin" : `node ${script}`;
}

/** A command of Tocsin as the person types it. Any other text stays as it is. */
export function typeCommand(command: string, ownCommand: string): string {
  return command.replace(/^tocsin(?= )/, () => ownCommand);
}

const names = new Set<string>();

export function nameCommand(name: string): void {
  names.add(name);
}

/** Replaces only known commands in a hint or a note, since a database may be named tocsin, too. */
export function asTyped(text: string, ownCommand: string): string {
  return text.replace(/(?<![\w./-])tocsin ([a-z]+)\b/g, (words, name) =>
    names.has(name) ? typeCommand(words, ownCommand) : words,
  );
}
