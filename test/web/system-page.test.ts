import { expect, it } from "vitest";
import type { RunningRelay } from "../../src/contract/operations.ts";
import { expectWords } from "../support/expect-words.ts";
import { createWebFixture, linesOf, plain as wordsOf } from "../support/web-fixture.ts";

const plain = (page: string) => wordsOf(page.replaceAll(/<\/?bdi>/g, ""));

it("says why the relay is not ready", async () => {
  const { read, operations } = await createWebFixture();
  const { relay, ...status } = await operations.status();
  const reasons = ["the disk is full", "it hangs"];
  operations.status = async () => ({ ...status, relay: { ...relay, ready: false, reasons } });
  expect(plain(await read("/system"))).toContain("Not ready: the disk is full; it hangs.");
});

it("warns when the configuration on disk is another one, or gone", async () => {
  const file = "/etc/tocsin/tocsin.yaml";
  const look = async (onDisk: "differs" | "gone") => {
    const { read } = await createWebFixture({ configuration: { file, hash: "0123456789ab", onDisk } });
    return plain(await read("/system"));
  };
  expect(await look("differs")).toContain("has changed and is not in force");
  expect(await look("gone")).toContain("the next start cannot use it");
});

it("requests that were turned away at the door are counted on the page of refused ones, with what helps", async () => {
  const doorRefusals = [
    { reason: "unknown_secret", total: 1_204, day: 3, lastAt: Date.UTC(2026, 10, 21, 11) },
    { reason: "too_large", total: 0, day: 0 },
  ] as const;
  const { read } = await createWebFixture({ doorRefusals: [...doorRefusals] });
  const page = plain(await read("/refused"));
  expect(page).toContain("Wrong address (404) 3 in 24 h, 1,204 since the start");
  expectWords(page, "A sender has an old secret, or somebody guesses.", { not: "Too large" });
});

it("says which relays run on the log and what each does, and one line of one that runs alone", async () => {
  const base = { version: "1.2.3", startedAt: 0, seenAt: 0, configurationVersion: 2, watches: false, reasons: [] };
  const relays: RunningRelay[] = [
    {
      ...{ ...base, id: "1", name: "one", isSelf: true, configuration: "newest", ready: true, watches: true },
      ...{ destinations: [{ name: "<b>desk</b>", since: 5 }, { name: "night" }], accepted: 1_234, spooled: 7 },
    },
    { ...base, id: "2", name: "two", isSelf: false, configuration: "older", ready: true, destinations: [] },
    {
      ...{ ...base, id: "3", name: "three", isSelf: false, configuration: "newest", ready: false },
      ...{ destinations: [], reasons: ["the disk is full"] },
    },
  ];
  relays.push({
    ...{ ...base, id: "4", name: "four", isSelf: false, configuration: "newest", ready: true },
    ...{ destinations: [], unheardMs: 9_000 },
  });
  const hearing = { by: "polls", why: "DATABASE_URL leads through a pooler", isPooled: true } as const;
  const fixture = await createWebFixture({ relays, hearing: () => hearing });
  const html = await fixture.read("/system");
  expect(html).not.toContain("<b>desk</b>");
  expect(`\n${linesOf(html).split(/\n(?=(?:Relays|Alerts)\n)/)[1]}\n`).toMatchSnapshot();
  const { data } = (await (await fixture.api("/api/relays")).json()) as { data: { name: string; startedAt: string }[] };
  expect(data.map(({ name }) => name)).toEqual(["one", "two", "three", "four"]);
  const { data: status } = (await (await fixture.api("/api/status")).json()) as { data: { relay: object } };
  expect(status.relay).toMatchObject({ hearing });
  const alone = await createWebFixture({});
  expectWords(plain(await alone.read("/system")), "Relays This one alone:", { not: "hear of each other" });
});
