import { expect, it } from "vitest";
import { aboutScenes, noon, openScene, request } from "../scene.ts";

export const describeKeyHistory = aboutScenes("alerts of one key", openScene, (test, open) => {
  /** Fires at each of these minutes. */
  async function fill(minutes: number[], alertKey = "k") {
    const scene = await openScene(open);
    const ids: string[] = [];
    for (const minute of minutes) {
      const about = { metric: "eth_token_price_0xa0b8", token: "USDC", chain: "eth" };
      const facts = { alertKey, value: `${minute}.50`, threshold: "10", unit: "USD", ...about };
      ids.push((await scene.route({ facts, receivedAt: noon + minute * 60_000 })).id);
      await scene.route({ facts: { alertKey: "other" }, receivedAt: noon + minute * 60_000 });
    }
    return { ...scene, ids };
  }

  it("are listed newest first, with what they say, and no others", async () => {
    const { store, ids } = await fill([1, 2, 3]);
    const { events, hasOlder, hasGap } = await store.keyHistory(ids[1] ?? "", 100);
    expect(events.map(({ id }) => id)).toEqual([...ids].reverse());
    expect(events[0]).toEqual({
      ...{ id: ids[2], receivedAt: noon + 3 * 60_000, severity: "warning", status: "firing", isRepeat: false },
      ...{ value: "3.50", threshold: "10", unit: "USD", metric: "eth_token_price_0xa0b8", token: "USDC", chain: "eth" },
    });
    expect([hasOlder, hasGap]).toEqual([false, false]);
  });

  it("of many are those about the alert and the latest, saying that there are more", async () => {
    const { store, ids } = await fill(Array.from({ length: 30 }, (_, minute) => minute));
    const about = async (index: number) => {
      const { events, ...rest } = await store.keyHistory(ids[index] ?? "", 8);
      return { at: events.map(({ id }) => ids.indexOf(id)), ...rest };
    };
    expect(await about(15)).toEqual({ at: [29, 28, 17, 16, 15, 14, 13, 12], hasOlder: true, hasGap: true });
    expect(await about(27)).toEqual({ at: [29, 28, 27, 26, 25, 24], hasOlder: true, hasGap: false });
    expect(await about(29)).toEqual({ at: [29, 28, 27, 26], hasOlder: true, hasGap: false });
    expect(await about(1)).toEqual({ at: [29, 28, 3, 2, 1, 0], hasOlder: false, hasGap: true });
  });

  test("are fewer where their texts are long", async (scene) => {
    const text = "x".repeat(20_000);
    let last = "";
    for (let minute = 0; minute < 40; minute += 1)
      last = (await scene.route({ facts: { alertKey: "long", text }, receivedAt: noon + minute })).id;
    const { events, hasOlder } = await scene.store.keyHistory(last, 100);
    expect(events.length).toBeGreaterThan(5);
    expect(events.length).toBeLessThan(40);
    expect([events[0]?.id, hasOlder]).toEqual([last, true]);
  });

  it("say their last values, of many keys at once, each up to the alert that is asked about", async () => {
    const { store, ids, route } = await fill([1, 2, 3, 4]);
    const textual = await route({ facts: { alertKey: "text" }, receivedAt: noon });
    const asked = [ids[2] ?? "", textual.id, "nobody"];
    const values = [2, 3].map((minute) => ({ at: noon + minute * 60_000, sent: `${minute}.50` }));
    const known = [
      { id: ids[2], values },
      { id: textual.id, values: [] },
    ];
    expect(await store.keyValues(asked, 2)).toEqual(known);
  });

  test("say no values where the texts of many are long, and those of the others in full", async (scene) => {
    const asked: string[] = [];
    for (let key = 0; key < 8; key += 1) {
      for (let minute = 0; minute < 3; minute += 1) {
        const facts = { alertKey: `long ${key}`, value: String(minute), text: "x".repeat(120_000) };
        const alert = await scene.route({ facts, receivedAt: noon + minute });
        if (minute === 2) asked.push(alert.id);
      }
    }
    const found = await scene.store.keyValues(asked, 30);
    expect(found.map(({ id }) => id)).toEqual(asked.slice(0, 5));
    for (const { values } of found) expect(values.map(({ sent }) => sent)).toEqual(["0", "1", "2"]);
  });

  it("are none of an unknown id, nor of what has not been read", async () => {
    const { store } = await fill([1]);
    const waiting = request({ receivedAt: noon });
    await store.acceptRequest(waiting);
    const none = { events: [], hasOlder: false, hasGap: false };
    expect(await store.keyHistory("nobody", 10)).toEqual(none);
    expect(await store.keyHistory(waiting.ids[0] ?? "", 10)).toEqual(none);
  });
});
