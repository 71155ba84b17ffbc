import { copyFileSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createRelayWorld } from "./relay-world.ts";

it("copies everything while the relay runs, for its owner only, and the copy can be put back", async () => {
  const world = await createRelayWorld();
  const [id = ""] = await world.post({ title: "Worth keeping", severity: "critical" });
  await world.ended(id);
  const run = await world.run(["backup", "copy.db", "--json"]);
  const file = join(world.dataDir, "copy.db");
  expect(run.json()).toEqual({ data: { file, bytes: statSync(file).size, integrity: "ok", alerts: 1 } });
  expect(statSync(file).mode & 0o777).toBe(0o600);

  const [late = ""] = await world.post({ title: "After the copy" });
  await world.ended(late);
  await world.stopRelay();
  const restored = join(world.dataDir, "restored");
  mkdirSync(restored);
  copyFileSync(file, join(restored, "tocsin.db"));
  const list = await world.run(["alerts", "list", "--json"], { env: { ...world.env, DATA_DIR: restored } });
  expect(list.json().data).toMatchObject([{ id, title: "Worth keeping" }]);
});

it("refuses a file that exists, and a folder without a database", async () => {
  const world = await createRelayWorld();
  const again = await world.run(["backup", "tocsin.yaml"]);
  expect(again.status).toBe(1);
  expect(again.stderr).toContain("exists already");
  const empty = join(world.dataDir, "empty");
  mkdirSync(empty);
  const none = await world.run(["backup", "copy.db"], { env: { ...world.env, DATA_DIR: empty } });
  expect(none.status).toBe(1);
  expect(none.stderr).toContain("there is no database");
});
