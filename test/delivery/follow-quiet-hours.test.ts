import { describe } from "vitest";
import { releaseHeld } from "../../src/operations/release-held.ts";
import { mailTo, type Named, type Step, telegramTo } from "./engine-fixture.ts";
import { hour, lost, minute } from "./outcomes.ts";
import { always, many, type Scene, tellScenesOf } from "./tell-scene.ts";

/** They begin with the scene, and end eight hours later. */
const until = Date.UTC(2026, 10, 21, 20);
const find = (end: number) => () => ({ until: end, words: "held until later by quiet hours" });
/** A restart that finds these quiet hours, or none. */
const restartWith =
  (
    hours?:
      | ReturnType<typeof find>
      | ((name: string, alert: { severity: string }) => ReturnType<ReturnType<typeof find>> | undefined),
  ): Step =>
  async (fixture) => {
    fixture.quietHours.find = hours;
    await fixture.play("restart", 1_000);
  };
const begin: Step = ({ quietHours }) => {
  quietHours.find = find(until);
};
const held = { planned: { state: "held" as const, dueAt: until } };
const hold: Step = [{}, held];

const [chat, mail, phone] = [telegramTo("chat"), mailTo("mail"), telegramTo("phone")];
const asks = telegramTo("chat", { onAmbiguous: "hold" });

/** Lets go of what is held: of a destination, or of alerts by their places. */
const releaseOf =
  (destinations: Named<string>[]) =>
  (filter: { destination?: string; alerts?: number[] } = {}): Step =>
  async ({ store, clock }) => {
    const ids = (await store.listAlerts({ limit: 10 })).toReversed().map(({ id }) => id);
    const { alerts, ...rest } = filter;
    const alertIds = alerts?.map((place) => ids[place - 1] ?? "01a1fb74-3be6-7000-aab0-a0517905e242");
    return releaseHeld({ store, destinations, clock }, { ...rest, ...(alertIds && { alertIds }) }).catch(
      ({ code }) => code,
    );
  };
const tellNights = (destinations: Named<string>[]) => (scenes: Scene[]) =>
  tellScenesOf(destinations)(scenes.map(([what, steps]): Scene => [what, [begin, ...steps]]));

describe("a restart with other quiet hours", () => {
  const criticalGoes = (_name: string, { severity }: { severity: string }) =>
    severity === "critical" ? undefined : find(until)();
  tellNights([chat])([
    ["sends what is held no more at once, as the summary, and says why", [hold, hold, hold, restartWith()]],
    [
      "holds what it still holds until the new end, earlier or later",
      [hold, hold, restartWith(find(until - hour)), restartWith(find(until + hour)), 8 * hour, minute, hour, minute],
    ],
    ["says why it holds what it still holds", [hold, restartWith(find(until - hour))]],
    ["lets go only of what they let through", [[{ severity: "critical" }, held], hold, restartWith(criticalGoes)]],
    [
      "changes nothing while they are as before, and lets go of as many as were held",
      [
        ...([
          many(401, held),
          restartWith(find(until)),
          ({ storeCalls }) => [...storeCalls.keys()].includes("rescheduleHeld"),
        ] as Step[]),
        ...[restartWith(), 10_000],
      ],
    ],
  ]);
  tellNights([asks])([
    ["leaves what is held since nobody knows whether it arrived", [lost, {}, 5_000, restartWith(), minute]],
  ]);
});

describe("what became due in quiet hours in its group", () => {
  const dueAt = until - 8 * hour + minute;
  const planned = {
    state: "held" as const,
    dueAt,
    groupName: '["group","all"]',
    fallback: { to: "phone", at: dueAt + 10 * minute },
  };
  const group = ["a", "b"].map((alertKey): Step => [{ alertKey }, { to: ["chat"], planned }]);
  const refuses = always("chat", { kind: "retry", reason: "connect_failed", detail: "no" });
  const release = releaseOf([chat, phone]);
  tellNights([chat, phone])([
    [
      "waits for their end, and its fallback as long behind it",
      [...group, 2 * minute, refuses, 8 * hour - 2 * minute, 9 * minute, 2 * minute],
    ],
    ["follows a restart without quiet hours", [...group, 2 * minute, restartWith(), 1_000]],
    ["follows the release of its destination", [...group, 2 * minute, release(), 1_000]],
    ["goes out alone where a person releases it before", [...group, release({ alerts: [1] }), 1_000]],
  ]);
});

describe.each([
  { from: "11:00", to: "13:00" },
  { from: "22:00", to: "13:00" },
  { from: "00:00", to: "00:00" },
  { from: "22:00", to: "07:00" },
])("in quiet hours from $from to $to", (hours) => {
  const quiet = telegramTo("chat", { quietHours: { ...hours, except: [] } });
  tellNights([quiet])([
    ["the summary names those in which its alerts came, and no others", [hold, hold, 8 * hour, minute]],
  ]);
});

describe("releasing what is held", () => {
  const [release, releaseAsking] = [releaseOf([chat, mail]), releaseOf([asks])];
  tellNights([chat, mail])([
    ["sends one summary for each destination, at once, and once", [hold, hold, release(), release(), 1_000, release()]],
    [
      "sends only to the destination named, or only the alerts named",
      [hold, hold, release({ destination: "mail" }), release({ alerts: [1, 1] }), 1_000],
    ],
    ["knows no such alert or destination", [hold, release({ destination: "desk" }), release({ alerts: [9] })]],
  ]);
  tellNights([asks])([
    [
      "repeats what may have arrived only where its alert is named, and marks it",
      [lost, {}, 5_000, 25 * hour, releaseAsking(), releaseAsking({ alerts: [1] }), minute],
    ],
  ]);
});
