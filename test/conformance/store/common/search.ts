import { describe, expect, it } from "vitest";
import { factsOf, noon, type OpenStore, openScene, request, routed, type Scene } from "../scene.ts";

async function search({ store }: Scene, q: string): Promise<string[]> {
  return (await store.listAlerts({ limit: 10, q })).map(({ facts }) => facts?.title ?? "");
}

const searches: [string, string, boolean][] = [
  ["a word of the title", "fell", true],
  ["the beginning of a word", "liq", true],
  ["the end of a word", "uidity", false],
  ["words of different places, in any order", "ethereum liquidity", true],
  ["words of which one is missing", "liquidity polygon", false],
  ["a field's name", "pool", true],
  ["a field's value", "0xA0b8", true],
  ["a number with a point", "0.05", true],
  ["digits of that number apart", "05.0", false],
  ["what belongs together", "tvl-24h", true],
  ["accents, with or without", "ZÜRICH zurich zu\u0308rich", true],
  ["a search engine's own syntax as text", 'title:fell OR "x', false],
  ["nothing but signs", '"*()', false],
];

export function describeSearch(open: OpenStore): void {
  describe("search", () => {
    it("finds what was routed once the store has been maintained, newest first, and catches up after a restart", async () => {
      const scene = await openScene(open);
      for (const title of ["one", "two"]) await scene.route({ facts: { title, token: "USDC" } });
      await scene.maintain();
      expect(await search(scene, "usdc")).toEqual(["two", "one"]);
      await scene.route({ facts: { title: "three", token: "USDC" } });
      await scene.restart();
      await scene.maintain();
      await scene.maintain();
      expect(await search(scene, "usdc")).toEqual(["three", "two", "one"]);
    });

    it("finds beginnings of words, numbers and what belongs together, and takes nothing for syntax", async () => {
      const scene = await openScene(open);
      const fields = [
        { name: "Pool", value: "0xa0b86991" },
        { name: "Desk", value: "Zürich" },
      ];
      await scene.route({
        facts: {
          title: "Liquidity fell",
          chain: "Ethereum",
          metric: "tvl-24h-change",
          threshold: "0.05",
          fields,
        },
      });
      await scene.maintain();
      for (const [what, q, found] of searches)
        expect.soft((await search(scene, q)).length === 1, `${what}: ${q}`).toBe(found);
    });

    it("finds an alert by its id", async () => {
      const scene = await openScene(open);
      const { id } = await scene.route();
      await scene.maintain();
      expect(await search(scene, id)).toHaveLength(1);
    });

    it("narrows a search by everything else", async () => {
      const scene = await openScene(open);
      await scene.route({ to: ["chat"], facts: { title: "a", severity: "critical" } });
      await scene.route({ to: ["mail"], facts: { title: "b" }, receivedAt: noon + 60_000 });
      await scene.maintain();
      const narrowed = async (query: object) =>
        (await scene.store.listAlerts({ limit: 10, q: "firing", ...query })).map(({ facts }) => facts?.title);
      expect(await narrowed({ destination: "mail" })).toEqual(["b"]);
      expect(await narrowed({ state: "queued", destination: "chat" })).toEqual(["a"]);
      expect(await narrowed({ severity: "critical" })).toEqual(["a"]);
      expect(await narrowed({ fromAt: noon + 1 })).toEqual(["b"]);
      const [newest] = await scene.store.listAlerts({ limit: 1 });
      expect(await narrowed({ before: newest?.position })).toEqual(["a"]);
      expect(await narrowed({ state: "unmatched" })).toEqual([]);
    });

    it("finds one whose routing failed for a while as well as what came after it", async () => {
      const scene = await openScene(open);
      await scene.store.acceptRequest(request());
      const [stuck] = await scene.store.listUnrouted(1, noon);
      const alertSeq = stuck?.alerts[0]?.seq ?? 0;
      await scene.route({ facts: { title: "later" } });
      await scene.maintain();
      await scene.store.recordRoutingFailure([alertSeq], "a bug", noon + 5000);
      await scene.maintain();
      expect(await search(scene, "firing")).toEqual(["later"]);
      await scene.store.recordRouting([routed(alertSeq, { facts: factsOf({ title: "stuck" }) })]);
      await scene.maintain();
      expect(await search(scene, "firing")).toEqual(["later", "stuck"]);
    });
  });
}
