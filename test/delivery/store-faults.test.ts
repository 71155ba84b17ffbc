import { describe } from "vitest";
import { ntfyTo, type Step, telegramTo, webhookTo } from "./engine-fixture.ts";
import { minute, second } from "./outcomes.ts";
import { claims, doing, fails, losesAnswer, many, type Scene, states, tellScenesOf } from "./tell-scene.ts";

const hook = ntfyTo("hook");
/** The engine begins on a store that can be changed. */
const own: Step[] = [doing("recordRouting", (real) => real), "restart", minute];
const accepts: Step = ({ accept }) => void accept().catch(() => {});
const searched: Step = async ({ store }) => (await store.listAlerts({ limit: 5, q: "searchable" })).length;

tellScenesOf([telegramTo("chat")])([
  ["records a message when the store takes it, once", [fails("recordAttempt"), {}, 20_000, fails(), 3 * minute]],
  ["marks the repeat when it could not record it", [fails("recordAttempt"), {}, 3 * minute, fails(), 3 * minute]],
  ["gives a claim back untried, and calls nothing ambiguous", [fails("findThread"), {}, 3_000, fails(), 10_000]],
  ["does so though that fails as well", [fails("findThread", "releaseClaim"), {}, 3_000, fails(), 10_000]],
]);

tellScenesOf([telegramTo("chat"), hook])([
  [
    "goes on indexing and calling fallbacks while another duty fails",
    [
      ...[fails("listAbandoned"), "hang" as const],
      ...[[{ title: "searchable" }, { to: ["chat"], fallback: ["hook", 10_000] }] as Step, 20_000, searched],
    ],
  ],
]);

tellScenesOf([webhookTo("receiver")])(
  [[claims], []].map(
    (how): Scene => [
      `gives back seconds later what it could neither send nor give back${how.length > 0 ? ": claimed with its routing" : ""}`,
      [
        ...[10 * second, ...how, fails("findRequests", "releaseClaim"), [{}, { body: '{"price":1}' }] as Step],
        ...[3 * second, states, fails(), 10 * second],
      ],
    ],
  ),
);

describe("keeps to the pace of a bot that bears a call each two seconds", () => {
  const slowClaim = doing("claimDeliveries", (real, { seen, clock }) => async (...asked) => {
    seen.claimDeliveries = real;
    const claimed = await real(...asked);
    await clock.sleep(2_500);
    return claimed;
  });
  const slowLoad: Step = ({ clock, channels }) => {
    const loaded = clock.sleep(2_500);
    for (const channel of Object.values(channels)) {
      const { send } = channel;
      channel.prepare = () => loaded;
      channel.send = async (...message) => {
        await loaded;
        return send(...message);
      };
    }
  };
  tellScenesOf([telegramTo("desk"), telegramTo("other")], (settings) => {
    settings.telegramBotPace = { perSecond: 0.5 };
  })([
    ["when the claim for one chat takes longer than the other's turn", [slowClaim, "restart", many(2), 20 * second]],
    ["when what both chats call with takes long to load", [slowLoad, many(2), 20 * second]],
  ]);
});

const slowly = doing("recordRouting", (real, { clock }) => async (...asked) => {
  const recorded = await real(...asked);
  await clock.sleep(second);
  return recorded;
});
const quickly = doing("recordRouting", (real) => real);
tellScenesOf([hook])([
  [
    "gives back what routing claims while the lane is stopped, so that it is no possible repeat",
    [claims, ...own, slowly, accepts, 0, "stop", 3 * second, quickly, "restart", minute],
  ],
]);

for (const [name, lateMs, destination] of [
  ["recordRouting", 0, hook],
  ["recordRouting", 8 * second, hook],
  ["claimRun", 0, hook],
  ["claimDeliveries", 0, telegramTo("hook")],
  ["claimDeliveries", 8 * second, telegramTo("hook")],
] as const)
  tellScenesOf([destination])([
    [
      `sends unmarked what ${name} has claimed ${lateMs} ms later, without an answer`,
      [...(name === "recordRouting" ? [claims] : []), ...own, losesAnswer(name, lateMs), accepts, 3.5 * minute],
    ],
  ]);
