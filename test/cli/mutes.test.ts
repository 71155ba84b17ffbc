import { expect, it } from "vitest";
import { runTocsin } from "../support/cli.ts";
import { expectWords } from "../support/expect-words.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createRelayWorld } from "./relay-world.ts";

it("silences everything until then, says so where the relay's health is said, and how to end it", async () => {
  const world = await createRelayWorld();
  const argv = ["mutes", "add", "--all", "--for", "1h", "--reason", "maintenance"];
  const added = (await world.run([...argv, "--json"])).json().data;
  expect(added).toMatchObject({ matchers: [], state: "active" });
  const [muted = ""] = await world.post({ title: "In the pool", severity: "warning" });
  expect((await world.ended(muted)).deliveries).toMatchObject([{ state: "muted" }]);
  expect((await world.run("mutes list")).stdout).toMatch(/active +every alert/);
  const until = added.endsAt.replace(/\.\d+/, "");
  expect((await world.run("status")).stdout).toMatch(
    new RegExp(`Everything is muted until ${until}.* · made by api.* tocsin mutes remove ${added.id}`),
  );
  expect((await world.run("doctor")).stdout).toContain(`Everything is muted until ${until}: maintenance`);
});

it("silences one alert until it is over: its end is sent, and so is what comes after it", async () => {
  const world = await createRelayWorld();
  const fire = async (status: string) => {
    const body = { title: "In the pool", severity: "warning", status, fingerprint: "pool-7" };
    const { deliveries, facts } = await world.send({ ...body, at: Math.random() });
    key = facts?.alertKey ?? "";
    return deliveries.map(({ state }) => state);
  };
  let key = "";
  expect(await fire("firing")).toEqual(["sent"]);
  const add = (...what: string[]) =>
    world.run(["mutes", "add", "--until-over", "--reason", "known", "--json", ...what]);
  expect((await add("--match", "severity=warning")).stderr).toContain("needs one whole alert key");
  const unknown = (await add("--match", "alertKey=incident:43")).stderr;
  expect(unknown).toContain("no alert of the last 24 h has that key; those that come with it are muted");
  const added = (await add("--match", `alertKey=${key}`)).json().data;
  expect(added).toMatchObject({ state: "active", untilOver: key });
  expect(Date.parse(added.endsAt) - Date.parse(added.startsAt)).toBe(86_400_000);
  expect((await world.run("mutes list")).stdout).toContain("it is over, at the latest 20");
  expect(await fire("firing")).toEqual(["muted"]);
  expect(await fire("resolved")).toEqual(["sent"]);
  expect(await world.data("mutes list")).toMatchObject([{ untilOver: "incident:43" }]);
  expect((await add("--match", `alertKey=${key}`)).stderr).toContain("It is over already.");
  expect(await fire("firing")).toEqual(["sent"]);
});

it("refuses wrong usage before it asks the relay anything", async () => {
  const cwd = makeTempFolder();
  const run = (...argv: string[]) => runTocsin(["mutes", "add", ...argv], { env: { DATA_DIR: cwd, PORT: "9" }, cwd });
  const add = (...argv: string[]) => run("--reason", "why", ...argv);
  expect((await add("--match", "severity=info")).stderr).toContain("either --for or --until");
  expect((await add("--for", "2h")).stderr).toContain("either --match or --all");
  expect((await add("--all", "--match", "severity=info", "--dry-run")).stderr).toContain("either --match or --all");
  expect((await add("--match", "sevrity=info", "--for", "2h")).stderr).toContain("did you mean severity?");
  expect((await add("--match", "severity=info", "--for", "soon")).status).toBe(2);
  expect((await run("--match", "severity=info", "--for", "2h")).status).toBe(2);
  const right = await add("--match", "severity=info", "--for", "2h");
  expect(right).toMatchObject({ status: 1, stderr: expect.stringContaining("tocsin serve") });
});

it("releases the latest of what a mute that has ended held back, once it is told to", async () => {
  const world = await createRelayWorld();
  const argv = ["mutes", "add", "--all", "--for", "1h", "--reason", "maintenance", "--json"];
  const { id } = (await world.run(argv)).json().data;
  for (const value of [3, 2])
    expect(
      (await world.send({ title: "In the pool", severity: "warning", alertKey: "pool", value })).deliveries,
    ).toMatchObject([{ state: "muted" }]);
  expect((await world.run(`mutes release ${id} --yes`)).stderr).toContain("still holds");
  await world.run(`mutes remove ${id}`);
  expectWords((await world.run(`mutes release ${id} --dry-run`)).stdout, [/1 alert \(of 2\)/, "Nothing was released"]);
  const alone = await world.run(`mutes release ${id}`);
  expect([alone.status, alone.stderr]).toEqual([2, expect.stringContaining("--dry-run")]);
  expect(await world.data(`mutes release ${id} --yes`)).toMatchObject({ resent: 1, left: [] });
  expect((await world.run(`mutes release ${id} --yes`)).stdout).toContain("Nothing is left to release");
  expect((await world.run("mutes list --all")).stdout).not.toContain("not all of it released");
});
