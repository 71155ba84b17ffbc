import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FileInForce } from "../../src/config/file-in-force.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { botEnv } from "./load.ts";

const one = "destinations:\n  desk: { type: telegram, chatId: -1001 }\n";

function createFile(text: string, env = botEnv as Record<string, string>) {
  const cwd = mkdtempSync(join(tmpdir(), "tocsin-"));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  const write = (changed: string) => writeFileSync(join(cwd, "tocsin.yaml"), changed);
  write(text);
  const load = (fileText?: string) => loadConfig({ env, cwd, fileText });
  return { write, load, file: new FileInForce(load(), load) };
}

test.each(["", "# later\n", "routes: []\n"])("refuses a file that names no destination any more: %j", (emptied) => {
  const { file, write } = createFile(one);
  write(emptied);
  expect(file.look(true)).toBeUndefined();
  const refused = ["tocsin.yaml: names no destination any more (restart Tocsin if that is meant)"];
  expect(file.view()).toMatchObject({ onDisk: "differs", refused });
  expect(file.look(true)).toBeUndefined();
  write(one);
  expect(file.view()).toMatchObject({ onDisk: "same" });
});

test("takes a file without destinations where the environment gives one, or where there was none before", () => {
  const { file, write } = createFile(one, { ...botEnv, TELEGRAM_CHAT_IDS: "-1002" });
  write("");
  expect(file.look(true)?.rules.destinations).toMatchObject([{ chatId: "-1002" }]);
  const empty = createFile("# nothing yet\n");
  empty.write("# still nothing\n");
  expect(empty.file.look(true)).toBeDefined();
});

test("refuses an empty file after one that was taken over", () => {
  const { file, write } = createFile("");
  write(one);
  const config = file.look(true);
  if (config === undefined) throw new Error("not taken");
  file.takenOver(config);
  write("");
  expect(file.look(true)).toBeUndefined();
});

test("is in force by the text that was read, whatever lies on disk before or after", () => {
  const { file, write, load } = createFile(one);
  const other = one.replace("-1001", "-1002");
  write(other);
  const config = file.look(true);
  write(one);
  if (config === undefined) throw new Error("not taken");
  file.takenOver(config);
  expect(file.view()).toMatchObject({ onDisk: "differs" });
  const before = load();
  write(other);
  const started = new FileInForce(before, load);
  expect(started.view()).toMatchObject({ onDisk: "differs" });
  expect(started.look(true)?.rules.destinations).toMatchObject([{ chatId: "-1002" }]);
});
