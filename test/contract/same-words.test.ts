import { expect, it } from "vitest";
import type { Trouble } from "../../src/contract/operations.ts";
import { runBeside } from "../cli/fake-status.ts";
import { createWebFixture } from "../support/web-fixture.ts";

const bad = (kind: Trouble["kind"], what: string, more: Partial<Trouble> = {}): Trouble => ({
  ...{ kind, level: "bad", what, notes: [], ...more },
});
const troubles: Trouble[] = [
  bad("store", "The disk is full", { notes: ["new alerts are answered 503 until there is room"] }),
  bad("store", "The database does not answer"),
  bad("spool", "3 alerts wait in the spool of this relay", { reason: "the spool is full" }),
  bad("lane", "No relay delivers to desk"),
  bad("destination", "desk is dead", { name: "desk", failed: 2, reason: "bot was kicked", notes: ["2 not delivered"] }),
  bad("undelivered", "4 messages were not delivered to mail", { name: "mail", failed: 4 }),
  bad("watch", "The API key of the alerting service is refused", { name: "account", reason: "401" }),
  bad("watch", "The account sends its alerts to https://other.example/…", { name: "account", canPutBack: true }),
  bad("watch", "The alerting service is gone", { name: "account" }),
  bad("watch", "alerts are missing: 3 for sure", { name: "gaps" }),
  bad("watch", "Requests to the source forge are refused", { name: "sources" }),
  bad("silence", "Nothing has come for 3 h"),
  { kind: "relay", level: "warn", what: "two has an older configuration", notes: [] },
];

it("page, status and doctor say the same of each trouble, whole, in the same words", async () => {
  const fixture = await createWebFixture();
  fixture.operations.health = async () => ({ troubles, destinations: [], watches: [] });
  const page = await fixture.read("/mutes");
  const state = { troubles: troubles as never };
  const [status, doctor] = [await runBeside(state, ["status"]), await runBeside(state, ["doctor"])];
  expect(doctor.status).toBe(1);
  for (const { what, notes } of troubles) {
    for (const words of [what, ...notes]) {
      expect(page).toContain(words);
      expect(status.stdout).toContain(words);
      expect(doctor.stdout).toContain(words);
    }
  }
});
