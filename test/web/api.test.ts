import { describe, expect, test } from "vitest";
import { createWebFixture } from "../support/web-fixture.ts";

describe("the list of alerts", () => {
  test("gives an alert with its deliveries", async () => {
    const { api, addAlert } = await createWebFixture();
    const alert = await addAlert();
    const answer = await api("/api/alerts");
    expect(answer.status).toBe(200);
    const { data, meta } = (await answer.json()) as { data: unknown[]; meta: unknown };
    expect(meta).toEqual({ nextCursor: null });
    expect(data[0]).toMatchObject({ id: alert.id, title: "TVL of USDC dropped", severity: "critical" });
  });
});
