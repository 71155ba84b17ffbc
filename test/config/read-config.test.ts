import { expect, test } from "vitest";
import { readConfig } from "../../src/config/read-config.ts";
import { botEnv } from "./load.ts";

const env = Object.freeze({ ...botEnv, CHAT: "-1001" });
const read = (text: string) =>
  readConfig({ env, cwd: "/srv/tocsin", file: { text, path: "/srv/tocsin/tocsin.yaml", name: "tocsin.yaml" } });
const good = `destinations:\n  desk: { type: telegram, chatId: "\${CHAT}", prove: 2h }\nroutes: [{ to: desk, silence: 6h }]\n`;

test("a text gives the same configuration whenever it is read, in a process that runs, and by its own environment alone", () => {
  const before = { ...process.env };
  const { config, mistakes } = read(good);
  expect(mistakes).toBeUndefined();
  expect(config?.rules.destinations).toMatchObject([{ name: "desk", chatId: "-1001", definedAt: "tocsin.yaml:2:3" }]);
  expect(config?.configFile).toBe("/srv/tocsin/tocsin.yaml");
  read("routes: [{ to: nobody }]");
  expect(read(good)).toEqual({ config });
  expect(process.env).toEqual(before);
});

test("a text with mistakes gives all of them with line and column, throws nothing, and leaves what was read before as it was", () => {
  const { config: first } = read(good);
  const kept = structuredClone(first?.rules.routes);
  expect(read(good.replace("prove: 2h", "prove: 2y").replace("to: desk", "to: dsk"))).toEqual({
    mistakes: [
      expect.objectContaining({ where: "tocsin.yaml:2:53", path: "destinations.desk.prove" }),
      expect.objectContaining({ where: "tocsin.yaml:3:16", path: "routes[0].to", instead: "did you mean desk?" }),
    ],
  });
  expect(read("routes: [").mistakes).toMatchObject([{ where: "tocsin.yaml:1:10" }]);
  expect(first?.rules.routes).toEqual(kept);
});

test.each(["", "null", "false"])("a heartbeat that is written as '%s' is none", (none) => {
  const { config, mistakes } = read(`${good}heartbeat: ${none}\n`);
  expect(mistakes).toBeUndefined();
  expect(config).not.toHaveProperty("heartbeat");
});
