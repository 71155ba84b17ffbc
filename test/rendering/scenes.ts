import { expect } from "vitest";

/** A long line by its ends and its length. */
const shorten = (line: string) =>
  line.length > 600 ? `${line.slice(0, 160)}… (${line.length} characters) …${line.slice(-80)}` : line;

/** Compares texts, each under what it should show, with those that a person has read: golden/<name>.txt. */
export async function expectScenes(name: string, scenes: readonly (readonly [string, string])[]): Promise<void> {
  const shown = scenes.map(([what, text]) => `=== ${what}\n${text.split("\n").map(shorten).join("\n")}\n`);
  await expect(shown.join("\n")).toMatchFileSnapshot(new URL(`golden/${name}.txt`, import.meta.url).pathname);
}
