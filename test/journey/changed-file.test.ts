import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type ApiAlert, createJourneyWorld, deskChat } from "../support/journey-world.ts";
import { keepPosting } from "../support/posting.ts";
import type { RelayProcess } from "../support/relay-process.ts";
import { createHttpVendor } from "../support/vendors/http-vendor.ts";

const countOf = (relay: RelayProcess, event: string) => relay.log().split(`"event":"${event}"`).length - 1;

async function takeOver(relay: RelayProcess): Promise<void> {
  const before = countOf(relay, "configuration.taken_over");
  relay.process.kill("SIGHUP");
  await expect.poll(() => countOf(relay, "configuration.taken_over")).toBeGreaterThan(before);
}

it("takes a changed file over 20 times under a stream of alerts: each is routed by one configuration, and sent once", async () => {
  const vendor = await createHttpVendor(() => ({ status: 204 }));
  const names = ["one", "other"];
  const destinations = names.map((name) => {
    return `  ${name}: { type: webhook, url: "${vendor.origin}/${name}", allowInternal: ["127.0.0.1"], digestOver: 1000 }\n`;
  });
  const yamlOf = (version: number) =>
    `destinations:\n${destinations.join("")}routes:\n${names
      .map((name) => `  - { name: ${name}-${version}, to: ${name}, continue: true }\n`)
      .join("")}`;
  const world = await createJourneyWorld({ yaml: yamlOf(0) });
  const relay = await world.start({ TELEGRAM_CHAT_IDS: "", EMAIL_TO: "" });
  const file = world.env.TOCSIN_CONFIG as string;
  const startOf = async () =>
    (await relay.getJson<{ data: { relay: { startedAt: string } } }>("/api/status")).data.relay.startedAt;
  const startedAt = await startOf();
  const posting = keepPosting(relay, 1, (_, count) => JSON.stringify({ title: `alert ${count}` }));
  for (let version = 1; version <= 20; version += 1) {
    writeFileSync(file, yamlOf(version));
    await takeOver(relay);
  }
  await posting.end();
  const { accepted, refused } = posting;
  expect(refused).toEqual([]);
  expect(await startOf()).toBe(startedAt);

  await expect.poll(() => vendor.requests.length).toBeGreaterThanOrEqual(2 * accepted.length);
  const sent = vendor.requests.map(({ path, body }) => `${path} ${JSON.parse(body).data.alerts[0].id}`);
  expect(sent.toSorted()).toEqual(accepted.flatMap((id) => names.map((name) => `/${name} ${id}`)).toSorted());
  for (const id of accepted) {
    const { data } = await relay.getJson<{ data: { decisions: { route: string }[] } }>(`/api/alerts/${id}`);
    const routes = data.decisions.map(({ route }) => route);
    const version = /\d+$/.exec(routes[0] ?? "")?.[0];
    expect(routes).toEqual(names.map((name) => `${name}-${version}`));
  }
});

it("refuses a broken file with its line, tells it once, and says when a mended one is in force, without a signal", async () => {
  const valid = "destinations:\n  desk: { type: telegram, chatId: -1001700000001 }\n";
  const world = await createJourneyWorld({ yaml: valid });
  const relay = await world.start({ TELEGRAM_CHAT_IDS: "", EMAIL_TO: "" });
  const file = world.env.TOCSIN_CONFIG as string;
  const texts = () => world.chat.messages(deskChat).map(({ text }) => text);
  writeFileSync(file, `${valid}routes:\n  - { name: all, to: nobody }\n`);
  await expect.poll(texts).toHaveLength(1);
  expect(texts()[0]).toContain("The changed configuration file is refused: a mistake");
  expect(texts()[0]).toMatch(/tocsin\.yaml:4:\d+.*nobody/);
  const { data } = await relay.getJson<{ data: { troubles: { name?: string; what: string }[] } }>("/api/status");
  expect(data.troubles).toMatchObject([{ name: "configuration" }]);
  expect((await relay.post('{"title":"still relayed"}')).status).toBe(202);
  await expect.poll(texts).toHaveLength(2);

  writeFileSync(file, `${valid}routes:\n  - { name: all, to: desk }\n`);
  await expect.poll(texts).toHaveLength(3);
  expect(texts()[2]).toContain("The configuration file on disk is in force");
  const { ids } = await relay.post('{"title":"by the route"}');
  const alert = async () => (await relay.getJson<{ data: ApiAlert }>(`/api/alerts/${ids[0]}`)).data;
  await expect.poll(alert).toMatchObject({ deliveries: [{ destination: "desk" }] });
});

it("survives a SIGHUP that comes while it starts, and lets go of a destination that the file no longer names", async () => {
  const gone = await createHttpVendor(() => ({ status: 503 }));
  const stays = await createHttpVendor(() => ({ status: 204 }));
  const line = (name: string, url: string) =>
    `  ${name}: { type: webhook, url: "${url}", allowInternal: ["127.0.0.1"] }\n`;
  const world = await createJourneyWorld({
    yaml: `destinations:\n${line("gone", gone.origin)}${line("stays", stays.origin)}`,
  });
  // It comes once the program is read, and before anything of it runs.
  const hangUp = 'process.on("newListener", (name) => name === "SIGINT" && process.kill(process.pid, "SIGHUP"))';
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(hangUp)}`;
  const relay = await world.start({ TELEGRAM_CHAT_IDS: "", EMAIL_TO: "", NODE_OPTIONS });
  const { ids } = await relay.post('{"title":"waits"}');
  await expect.poll(() => gone.requests.length).toBeGreaterThan(0);
  writeFileSync(join(world.dataDir, "tocsin.yaml"), `destinations:\n${line("stays", stays.origin)}`);
  await takeOver(relay);
  const states = async () => {
    const { data } = await relay.getJson<{ data: ApiAlert }>(`/api/alerts/${ids[0]}`);
    return data.deliveries.map(({ destination, state }) => `${destination} ${state}`).sort();
  };
  await expect.poll(states).toEqual(["gone failed", "stays sent"]);
});
