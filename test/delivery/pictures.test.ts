import { describe } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import type { Illustrate } from "../../src/core/ports/illustration.ts";
import type { KnownDestination } from "../support/known-vendors.ts";
import { pngOf } from "../support/png.ts";
import { later, type Step, telegramTo } from "./engine-fixture.ts";
import { flood, minute } from "./outcomes.ts";
import { onChannel, type Scene, tellScenesOf } from "./tell-scene.ts";

const png = pngOf(800, 400);
const drawn: Illustrate = async () => ({ png, alt: "TVL of USDC" });
const ofAlert: Illustrate = async (alertId) => ({ png, alt: alertId });
const sent: Outcome = { kind: "sent", ref: "1" };
const unpaced = { pace: {}, digestOver: 1_000 };
const refused: Outcome = { kind: "rejected", scope: "message", reason: "message_refused", detail: "no pictures here" };

const chatWith = (changes: Partial<KnownDestination> = unpaced) => telegramTo("desk", { chart: true, ...changes });
/** One chat with pictures, which bears any pace unless it is said otherwise. */
const tellPictures = (scenes: Scene[], illustrate = drawn, changes?: Partial<KnownDestination>) =>
  tellScenesOf([chatWith(changes)], undefined, illustrate)(scenes);
const did: Step = ({ channels }) => channels.desk?.did;
const tight = onChannel("desk", (desk) => {
  desk.holdsPicture = () => false;
});
const each = (count: number, ms: number): Step[] => Array.from({ length: count }, (): Step[] => [{}, ms]).flat();

describe("the picture of a message", () => {
  tellPictures(
    [["joins it once it was sent, when its chat could take another text", [{ title: "TVL fell" }, 1_000, did, 300]]],
    async () => ({ png, alt: "TVL", line: "24 h −3.2 %" }),
    {},
  );
  tellScenesOf(
    [chatWith(), telegramTo("plain", { chart: false, ...unpaced })],
    undefined,
    drawn,
  )([
    [
      "is not for a chat without pictures, an alert that is over, a notice or a test",
      [{}, { status: "resolved" }, [{}, { purpose: "notice" }], [{}, { purpose: "test" }], 5_000],
    ],
  ]);

  const heard =
    (isTold: boolean): Step =>
    (fixture) => {
      fixture.hears = isTold;
      if (isTold) fixture.engine.wake(["desk"]);
    };
  tellPictures(
    [
      ["is not for a digest", [heard(false), {}, {}, {}, {}, heard(true), 5_000]],
      ["is not for more than five messages a minute", [...each(7, 500), minute, {}, 500]],
    ],
    drawn,
    { pace: {}, digestOver: 3 },
  );

  const alone: [why: string, illustrate?: Illustrate, changes?: Partial<KnownDestination>, before?: Step[]][] = [
    ["it would shorten the text", drawn, unpaced, [tight]],
    ["there is nothing to draw", async () => ({ none: "one value is known" })],
    ["drawing fails", () => Promise.reject(new Error("out of paint"))],
    ["the service hangs", () => new Promise(() => {})],
    ["there is no room within three seconds", drawn, { pace: { perSecond: 0.2 } }],
  ];
  for (const [why, illustrate, changes, before = []] of alone)
    tellPictures([[`leaves the text alone when ${why}`, [...before, {}, 0, did, 10_000]]], illustrate, changes);

  const refusesPictures = onChannel("desk", (desk) => {
    desk.always = ({ action }) =>
      action === "illustrate" ? refused : { kind: "sent", ref: String(desk.calls.length) };
  });
  tellPictures([
    ["keeps no text waiting that comes during its call", [sent, "hang", {}, 200, {}, 0, "answer", 1_000]],
    ["is a call that ends: one that hangs is given up", [sent, "hang", {}, 11_000]],
    [
      "is tried no more for ten minutes when three were refused, and texts go on",
      [refusesPictures, ...each(4, 30_000), ({ clock }) => clock.jump(10 * minute), {}, 500],
    ],
    ["tells the chat's texts how long they are to wait", [sent, flood(7_000), {}, 500, {}, 8_000]],
  ]);
  tellPictures([["is not waited for at a stop", [{}, 0, "restart"]]], drawn, {});
});

describe("a message that changes while it gets its picture", () => {
  const firing = { alertKey: "tvl", title: "TVL fell" };
  const over = { ...firing, status: "resolved" as const };
  const [first, second] = [
    { ...firing, value: "9" },
    { ...firing, value: "7" },
  ];
  tellPictures(
    [
      [
        "gets the picture of the alert that it comes to show, in place of the one before, and none when it is over",
        [first, 200, second, 200, over, 5_000],
      ],
      [
        "gets it as well when it was changed while the one before was being added, and says the newest in the end",
        [sent, "hang", first, 100, second, 100, over, 100, "answer", 3_000],
      ],
      [
        "has its newest text written once more when the two calls have crossed",
        [sent, "hang", first, 100, over, 100, "answer", 1_000],
      ],
      [
        "is answered where a picture on its way could not stand under the new text",
        [sent, "hang", first, 100, tight, over, 100, "answer", 1_000],
      ],
    ],
    ofAlert,
  );
  const drawing = later<void>();
  tellPictures(
    [["is given it with the text that it has by then", [firing, 0, second, 100, () => drawing.settle(), 200]]],
    async (...asked) => drawing.promise.then(() => ofAlert(...asked)),
  );
});
