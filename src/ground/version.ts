import { readFileSync } from "node:fs";

/** From package.json, which is at the same relative place from `src` and from `dist`. */
export function readVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
