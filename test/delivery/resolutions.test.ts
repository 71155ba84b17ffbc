import { describe } from "vitest";
import { mailTo, type Step, telegramTo } from "./engine-fixture.ts";
import { hour, minute } from "./outcomes.ts";
import { tellScenesOf } from "./tell-scene.ts";

const key = { alertKey: "k", severity: "critical" } as const;
const over = { ...key, status: "resolved" } as const;
const [laterEnd, held] = [{ planned: { updates: "later_end" as const } }, { heldForMs: hour }];
const ofKey = (alertKey: string, facts: typeof key | typeof over): Step => [{ ...facts, alertKey }, held];
const notice = (severity: "info" | "warning"): Step => [{ alertKey: severity, severity }, { purpose: "notice" }];
const edit = { kind: "rejected", scope: "message", reason: "message_refused", detail: "not to be edited" } as const;

describe("an alert that is over", () => {
  tellScenesOf([telegramTo("chat")])([
    ["rings nowhere; what fires does", [over, 2 * minute, key, 2 * minute, over, 2 * minute, key, minute]],
    [
      "rings nowhere as a notice that can wait, and an alert of that severity rings",
      [notice("info"), 10_000, notice("warning"), 10_000, { alertKey: "alert", severity: "info" }, minute],
    ],
    ["sounds as any other when a person asks for it again", [[over, { purpose: "resend" }], minute]],
    ["rings no longer when everything in a digest is over", [ofKey("a", over), ofKey("b", over), hour, minute]],
    ["rings in a digest of something that fires", [ofKey("a", over), ofKey("b", key), hour, minute]],
    ...(["auto", "edit", "reply"] as const).map((updates): [string, Step[]] => {
      const fires: Step = [key, { planned: { updates } }];
      const ends: Step = [over, { planned: { updates }, ...held }];
      const what = "rings as new when it fires again while its end waits for the end of quiet hours";
      return [`${what}: updates ${updates}`, [fires, 10_000, ends, 10_000, fires, 10_000, minute]];
    }),
    [
      "closes nothing that fires again, and says so",
      [key, 10_000, [over, held], key, 10_000, hour, minute, over, minute],
    ],
    ["closes its message once quiet hours are over", [key, 8 * minute, [over, held], hour, minute, key, minute]],
    [
      "is no second message when its later end can change none, and the record says so",
      [key, minute, over, minute, edit, [over, laterEnd], minute],
    ],
  ]);
  tellScenesOf([mailTo("mail")])([
    ["rings in no mailbox", [over, 2 * minute, key, 2 * minute, over, 2 * minute, key, 2 * minute]],
  ]);
});
