import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runTocsin } from "../support/cli.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const env = { TELEGRAM_BOT_TOKEN: "123456789:AAcanaryBotTokenThatNobodyMaySee_0001", TELEGRAM_CHAT_IDS: "-1001" };
const watched = { ...env, PUBLIC_URL: "https://tocsin.example.com" };
const mapping = "mapping: { title: [payload.rule.headline, payload.name] }\n";

/** Where the folder has a file named `file`, and tocsin.yaml with this text. */
async function check({ yaml, argv = [], variables = env }: { yaml?: string; argv?: string[]; variables?: object }) {
  const cwd = makeTempFolder();
  writeFileSync(join(cwd, "file"), "");
  if (yaml !== undefined) writeFileSync(join(cwd, "tocsin.yaml"), yaml);
  return { cwd, ...(await runTocsin(["check", ...argv], { cwd, env: { ...variables } })) };
}

it.each<[what: string, scene: Parameters<typeof check>[0]]>([
  ["a file that is not there where its name was given", { argv: ["--config", "nope.yaml"] }],
  ["a folder in place of a file", { argv: ["--config", "."] }],
  ["an empty configuration, by which nobody gets anything", { variables: {} }],
  [
    "matchers as they are written, and a route that drops on purpose",
    {
      yaml: `routes:
  - { match: { value: { gte: 5 }, title: { equals: "a, b" } }, drop: true }
  - { to: "telegram:-1001" }
`,
    },
  ],
  [
    "which routes and mutes are disabled, and when and how a route works",
    {
      yaml: `routes:
  - { match: severity=info, to: "telegram:-1001", disabled: true }
  - { match: chain=eth, to: "telegram:-1001", activeHours: { from: "08:00", to: "18:00" }, silent: info, cooldown: 30m }
  - { to: "telegram:-1001", default: true }
mutes:
  - { match: token=DAI, reason: test, until: 2100-01-01T00:00:00Z, disabled: true }
  - { match: token=USDC, reason: move, from: 2099-01-01T00:00:00Z, until: 2100-01-01T00:00:00Z }
`,
    },
  ],
  [
    "a folder for data that cannot hold any, among the other mistakes",
    { variables: { ...env, DATA_DIR: "file", PORT: "x" } },
  ],
  ["where facts are read from by the mapping", { yaml: mapping }],
  [
    "what is watched, and how long alerts are kept",
    {
      yaml: `retention: { age: 30d, size: 2 GB }
silence: { hook: auto, sources: { "Pyth alerts": 2h } }
canary: { at: ["07:30", "19:30"], days: mon-tue, timeZone: Europe/Zurich, to: ["telegram:-1001"] }
`,
      variables: watched,
    },
  ],
])("shows %s", async (_what, scene) => {
  const { cwd, status, stdout, stderr } = await check(scene);
  expect(`ends with ${status}\n${(stdout + stderr).replaceAll(cwd, "<folder>")}`).toMatchSnapshot();
});

it("says with --json where facts are read from, and a mistake", async () => {
  const { data } = (await check({ yaml: mapping, argv: ["--json"] })).json();
  expect(data.mapping).toEqual({ title: ["payload.rule.headline", "payload.name"] });
  expect((await check({ argv: ["--config", ".", "--json"] })).json().data.problems).toHaveLength(1);
});
