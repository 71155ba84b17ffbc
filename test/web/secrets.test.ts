import { expect, test } from "vitest";
import { createWebFixture, hookSecret } from "../support/web-fixture.ts";

test("the hook's address is shown to whoever is logged in and asks for it by a button", async () => {
  const { ask, read, post } = await createWebFixture();
  expect(await read("/setup")).toContain("http://tocsin.test/hooks/…");
  const revealed = await post("/setup");
  expect(await revealed.text()).toContain(`http://tocsin.test/hooks/${hookSecret}`);
  expect(revealed.headers.get("cache-control")).toBe("no-store");
  expect((await ask("/setup", { method: "POST" })).status).toBe(303);
});
