import { expect } from "vitest";
import { aboutScenes, noon, openScene, request } from "../scene.ts";

export const describeAccepting = aboutScenes("accepting", openScene, (test) => {
  test("keeps the request byte for byte, over a restart, also where it is empty or not all of a buffer", async (scene) => {
    const slab = Buffer.from([0x61, 0x00, 0xff, 0x7b, 0x22, 0xc3, 0x28, 0x0d, 0x0a, 0x61]);
    const headers = ["X-Same", "x-same"].map((name, index) => [name, String(index)]);
    // The first may go to the store alone, and the others together.
    const bodies = [slab.subarray(1, 9), slab.subarray(2, 5), new Uint8Array(), slab.subarray(4, 7)];
    const sent = bodies.map((body, index) =>
      request({ body, headers: JSON.stringify(headers), contentType: undefined, dedupeKey: `k${index}` }),
    );
    const acceptances = await Promise.all(sent.map((one) => scene.store.acceptRequest(one)));
    expect(acceptances).toMatchObject(sent.map(({ ids }) => ({ kind: "accepted", ids, conflict: false })));
    await scene.restart();
    for (const [index, { ids, body }] of sent.entries()) {
      const kept = (await scene.store.getAlert(ids[0] ?? ""))?.request;
      expect(kept && Buffer.from(kept.body).equals(body)).toBe(true);
      const fields = { body: expect.any(Uint8Array), headers, receivedAt: noon, item: 0, items: 1 };
      expect(kept).toMatchObject({ ...fields, dedupeKey: `k${index}` });
      expect(kept?.contentType).toBeUndefined();
    }
  });

  test("answers the same key and body with the first ids, over a restart, stores nothing, and counts it", async (scene) => {
    const { newId } = scene;
    const first = request({ dedupeKey: "evt-1", ids: [newId(), newId()] });
    await scene.store.acceptRequest(first);
    await scene.restart();
    const { store } = scene;
    const again = await store.acceptRequest(request({ dedupeKey: "evt-1", ids: [newId(), newId()] }));
    expect(again).toEqual({ kind: "duplicate", ids: first.ids });
    expect((await store.countAlerts()).total).toBe(2);
    expect(await store.countDuplicates()).toBe(1);
    expect((await store.getAlert(first.ids[0] ?? ""))?.request?.duplicates).toBe(1);
  });

  test("stores another body under the same key and flags it", async ({ store }) => {
    await store.acceptRequest(request({ dedupeKey: "evt-1" }));
    const other = request({ dedupeKey: "evt-1", body: Buffer.from("other") });
    expect(await store.acceptRequest(other)).toMatchObject({ kind: "accepted", ids: other.ids, conflict: true });
    expect((await store.getAlert(other.ids[0] ?? ""))?.request?.conflict).toBe(true);
    // A resend of either body is a duplicate of its own request.
    const resent = request({ dedupeKey: "evt-1", body: Buffer.from("other") });
    expect(await store.acceptRequest(resent)).toEqual({ kind: "duplicate", ids: other.ids });
  });

  test("forgets keys after the window, and counts it from the latest request", async ({ store }) => {
    const dedupeWindowMs = 1000;
    const at = (receivedAt: number) => store.acceptRequest(request({ dedupeKey: "evt-1", dedupeWindowMs, receivedAt }));
    expect(await at(noon)).toMatchObject({ kind: "accepted" });
    expect(await at(noon + 999)).toMatchObject({ kind: "duplicate" });
    expect(await at(noon + 1000)).toMatchObject({ kind: "accepted", conflict: false });
    expect(await at(noon + 1500)).toMatchObject({ kind: "duplicate" });
  });

  test("numbers what comes at once in the order in which it came, and deduplicates within it", async ({ store }) => {
    const requests = Array.from({ length: 300 }, (_, index) =>
      request({ dedupeKey: `evt-${index % 200}`, body: Buffer.from(`body ${index % 200}`) }),
    );
    const answers = await Promise.all(requests.map((incoming) => store.acceptRequest(incoming)));
    expect(answers.filter(({ kind }) => kind === "accepted")).toHaveLength(200);
    expect(answers[250]?.ids).toEqual(requests[50]?.ids);
    const listed = await store.listAlerts({ limit: 200 });
    expect(listed.map(({ id }) => id).reverse()).toEqual(requests.slice(0, 200).map(({ ids }) => ids[0]));
  });

  test("refuses a call that breaks a rule alone, whole, and commits the others that came with it", async (scene) => {
    const { store, newId } = scene;
    const [first, half] = [request(), newId()];
    await store.acceptRequest(first);
    const requests = [request(), request({ ids: [half, ...first.ids] }), request()];
    const outcomes = await Promise.allSettled(requests.map((one) => store.acceptRequest(one)));
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect([await store.getAlert(half), (await store.countAlerts()).total]).toEqual([undefined, 3]);
  });
});
