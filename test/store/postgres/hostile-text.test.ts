import { expect, it } from "vitest";
import type { AlertQuery } from "../../../src/core/ports/alert-log.ts";
import { openPostgresStore } from "../../../src/store/postgres/store.ts";
import { openScene } from "../../conformance/store/scene.ts";
import { request } from "../../conformance/store/scene-samples.ts";
import { postgresDatabaseOf } from "../../support/postgres.ts";

const open = async (dataDir: string) =>
  openPostgresStore({ url: await postgresDatabaseOf(dataDir), relayName: "a test" });

/** What a text of PostgreSQL cannot hold, and what its JSON takes for a mistake. */
const nul = "\0";
const half = "\ud800";

it("texts that PostgreSQL cannot hold come back as they were sent, and are found by what else they say", async () => {
  const scene = await openScene(open);
  const facts = {
    title: `Liquidity${nul} of${half} USDC \\u0000 fell`,
    text: `${nul}${half}\udc00 deeply`,
    token: `US${nul}DC`,
    value: "12.5",
    alertKey: `key${nul}${half}`,
    fields: [{ name: `pool${nul}`, value: `0xabc${half}` }],
  };
  const { id } = await scene.route({ facts });
  await scene.route({ facts: { title: "another", alertKey: "other", value: "1e999999999" } });
  await scene.maintain();
  const { store } = scene;
  expect((await store.getAlert(id))?.facts).toMatchObject(facts);
  const found = async (query: Partial<AlertQuery>) =>
    (await store.listAlerts({ limit: 10, ...query })).map((alert) => alert.id);
  const queries: Partial<AlertQuery>[] = [
    { q: "liquidity usdc" },
    { q: `usdc${nul}` },
    { q: "deeply" },
    { q: "0xabc" },
    { phrases: ["usdc u0000 fell"] },
    { key: facts.alertKey },
    { facts: [{ fact: "title", has: "of" }] },
    { facts: [{ fact: "token", is: `us${nul}dc` }] },
    {
      facts: [
        { fact: "value", compare: ">", number: 12.25 },
        { fact: "value", compare: "<", number: 1e21 },
      ],
    },
  ];
  for (const query of queries) expect.soft(await found(query), JSON.stringify(query)).toEqual([id]);
  const places = [{ severity: `critical${nul}` }, { destination: nul }, { source: nul }, { route: half }];
  for (const query of [{ q: nul }, { q: half }, ...places])
    expect.soft(await found(query as Partial<AlertQuery>), JSON.stringify(query)).toEqual([]);
  expect((await store.keyHistory(id, 10)).events.map(({ value }) => value)).toEqual(["12.5"]);
  expect(await store.keyValues([id], 10)).toMatchObject([{ values: [{ sent: "12.5" }] }]);
  expect(await store.findByIdPart(id.slice(-6), 5)).toMatchObject({ alerts: [{ id }] });
});

it("texts that PostgreSQL cannot hold are found in bodies, with bytes of any kind around them", async () => {
  const { store } = await openScene(open);
  const bodies = [
    Buffer.concat([Buffer.from([0]), Buffer.from("plain \\ back\\slash"), Buffer.from([0, 1, 0xff])]),
    Buffer.from("Z\u00fcrich 303 \u0001"),
    Buffer.from(`\0\0Z\u00fcrich \\000 end`),
  ];
  for (const body of bodies) await store.acceptRequest(request({ body }));
  const found = async (text: string) =>
    (await store.listAlerts({ limit: 10, raw: [text] })).map((alert) => alert.aroundRaw);
  expect(await found("BACK\\slash")).toHaveLength(1);
  expect(await found("z\u00fcrich")).toHaveLength(2);
  // How bytes are written nowhere is found as text.
  expect(await found("303")).toEqual(["Z\u00fcrich 303 \u0001"]);
  expect(await found("\\000")).toEqual([`\0\0Z\u00fcrich \\000 end`]);
  expect(await found("377")).toEqual([]);
  expect(await found(`${nul}z`)).toHaveLength(1);
});

it("texts that PostgreSQL cannot hold make no words of a search that another would not", async () => {
  const scene = await openScene(open);
  const hindi = "\u0939\u093f\u0928\u094d\u0926\u0940";
  const titles = ["d\u00e9p\u00eag \u0130stanbul", "\u6771\u4eac alert", "stra\u00dfe 42", `${hindi} word`];
  titles.push("a'b:c|d&e!f", `${"x".repeat(300)} long`);
  const ids: string[] = [];
  for (const title of titles) ids.push((await scene.route({ facts: { title } })).id);
  await scene.maintain();
  const find = async (q: string) => (await scene.store.listAlerts({ limit: 10, q })).map(({ id }) => ids.indexOf(id));
  expect(await find("depeg ISTANBUL")).toEqual([0]);
  expect(await find("\u6771")).toEqual([1]);
  expect(await find("STRA\u00dfE")).toEqual([2]);
  expect(await find(hindi)).toEqual([3]);
  expect(await find("a'b:c|d")).toEqual([4]);
  expect(await find("c|d:* & !f")).toEqual([4]);
  expect(await find("x".repeat(300))).toEqual([5]);
  expect(await find("x".repeat(50))).toEqual([5]);
  expect(await find("':* | <->")).toEqual([]);
});
