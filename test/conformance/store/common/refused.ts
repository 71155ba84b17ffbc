import { expect } from "vitest";
import type { RefusedRequest } from "../../../../src/core/ports/refused.ts";
import { aboutScenes, newIdAt, noon, openScene } from "../scene.ts";

const refused = (changes: Partial<RefusedRequest> = {}): RefusedRequest => ({
  ...{ id: newIdAt(noon), source: "forge", receivedAt: noon, address: "203.0.113.9", items: 1, unkept: 0 },
  ...{ reason: "wrong_signature", detail: "no signature is one of this source's", contentType: "application/json" },
  ...{ headers: '[["x-hub-signature-256","sha256=00"]]', body: Buffer.from("{}"), ...changes },
});

export const describeRefused = aboutScenes("refused requests", openScene, (test) => {
  test("are kept as they came, apart from the alerts, and listed newest first, over a restart too, and marked once as released", async (scene) => {
    const [first, second, other] = [refused(), refused({ unkept: 7 }), refused({ source: "other" })];
    for (const one of [first, second, other]) await scene.store.recordRefused(one);
    await scene.restart();
    const { store } = scene;
    const listed = async (query: { source?: string; before?: string; limit?: number }) =>
      (await store.listRefused({ limit: 10, ...query })).map(({ id }) => id);
    expect(await listed({})).toEqual([other.id, second.id, first.id]);
    expect(await listed({ source: "forge" })).toEqual([second.id, first.id]);
    expect(await listed({ limit: 1, before: other.id })).toEqual([second.id]);
    expect(await listed({ before: "no such id" })).toEqual([]);
    const { headers, body, ...summary } = second;
    const found = await store.getRefused(second.id);
    const sizes = { bodyBytes: 2, released: undefined };
    expect({ ...found, body: undefined }).toEqual({ ...summary, ...sizes, headers: JSON.parse(headers) });
    expect(Buffer.from(found?.body ?? "")).toEqual(body);
    expect(await store.getRefused("none")).toBeUndefined();
    await store.markReleased(first.id, ["a", "b"], noon + 1);
    await store.markReleased(first.id, ["c"], noon + 2);
    expect((await store.getRefused(first.id))?.released).toEqual({ at: noon + 1, alertIds: ["a", "b"] });
    expect(await store.listAlerts({ limit: 10 })).toEqual([]);
  });

  test("of one source and address are the newest 200, and no more than 4 MiB but for the newest; others keep theirs", async (scene) => {
    const { store } = scene;
    const kept = refused({ source: "other" });
    await store.recordRefused(kept);
    const many = Array.from({ length: 203 }, () => refused());
    for (const one of many) await store.recordRefused(one);
    const list = await store.listRefused({ limit: 1000, source: "forge" });
    const newest = many.slice(3).reverse();
    expect(list.map(({ id }) => id)).toEqual(newest.map(({ id }) => id));
    const large = [3, 2, 5].map((mebibytes) => refused({ body: new Uint8Array(mebibytes * 1024 * 1024) }));
    for (const [index, one] of large.entries()) {
      await store.recordRefused(one);
      const left = await store.listRefused({ limit: 1000, source: "forge" });
      expect(left[0]?.id).toBe(one.id);
      expect(left.length).toBe([200, 1, 1][index]);
    }
    expect((await store.listRefused({ limit: 10, source: "other" })).map(({ id }) => id)).toEqual([kept.id]);
  });

  test("of a stranger's flood push out the stranger's own, and not those of another address", async ({ store }) => {
    const sender = Array.from({ length: 20 }, () => refused({ address: "198.51.100.7" }));
    for (const one of sender) await store.recordRefused(one);
    for (let count = 0; count < 220; count += 1) await store.recordRefused(refused());
    await store.recordRefused(refused({ body: new Uint8Array(4 * 1024 * 1024 - 1_000) }));
    const left = await store.listRefused({ limit: 1000, source: "forge" });
    expect(left).toHaveLength(200);
    expect(left.slice(-20).map(({ id }) => id)).toEqual(sender.map(({ id }) => id).reverse());
  });

  test("go with the alerts of their age", async ({ store }) => {
    const [old, young] = [refused(), refused({ receivedAt: noon + 1_000 })];
    for (const one of [old, young]) await store.recordRefused(one);
    await store.removeAlerts({ receivedBefore: noon + 1, limit: 10 });
    expect((await store.listRefused({ limit: 10 })).map(({ id }) => id)).toEqual([young.id]);
  });
});
