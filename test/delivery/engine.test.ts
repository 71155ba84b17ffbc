import { describe } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import type { PlannedDelivery } from "../../src/core/rules.ts";
import { mailTo, ntfyTo, type Step, stopEngine, telegramTo } from "./engine-fixture.ts";
import { flood, hour, kicked, lost, minute, refused, second, unauthorized } from "./outcomes.ts";
import { always, fails, many, onChannel, probes, tellScenesOf } from "./tell-scene.ts";

const [chat, other, hook] = [telegramTo("chat"), telegramTo("other"), ntfyTo("hook")];
const sent: Outcome = { kind: "sent", ref: "1" };
const moved: Outcome = { kind: "retry", reason: "address_moved", detail: "moved", movedTo: "-100777", waitMs: 0 };
const rejected = (reason: "markup_refused" | "edit_target_gone") =>
  ({ kind: "rejected", scope: "message", reason, detail: "not so" }) as const;
const deaf: Step = (fixture) => {
  fixture.hears = false;
};
const [toChat, toOther] = ["chat", "other"].map((name): Step => [{}, { to: [name] }]) as [Step, Step];

describe("delivering to a chat", () => {
  tellScenesOf([chat])([
    ["finds what is due within five seconds when the signal is lost", [10, deaf, {}, 6 * second]],
    ["sends plain text once when it is refused, then fails", [always("chat", rejected("markup_refused")), {}, minute]],
    [
      "sends nothing before its retry_after, over a restart, and does not call that an attempt",
      [flood(120_500), {}, 0, {}, 20 * second, "restart", 3 * minute],
    ],
    ["follows a group to its new id, and remembers it", [moved, {}, 3 * second, "restart", {}, 3 * second]],
  ]);
  tellScenesOf([telegramTo("chat", { digestOver: 1000 })])([
    ["sends once a second, eighteen times a minute, over a restart", [many(19), 40_000, "restart", 25_000]],
  ]);
  tellScenesOf([chat, other, hook])([
    [
      "pauses all of an account whose credentials are refused, and keeps their queue",
      [unauthorized, toChat, 5_000, toOther, minute, probes("chat", sent), probes("other", sent), 10 * minute],
    ],
  ]);
});

describe("delivering to a hook", () => {
  const outage = Array.from({ length: 15 }, (_, index): Step => ({ title: `Outage ${index}` }));
  tellScenesOf([hook])([
    ["retries on the schedule, and counts each attempt", [refused, refused, refused, {}, minute]],
    ["repeats what is ambiguous, marked, and holds it after two repeats", [always("hook", lost), {}, 5 * minute]],
    ["opens the breaker after five failures: waiting is no attempt", [always("hook", refused), many(5), 35_000]],
    [
      "says what waited out an outage newest first, with how late and why",
      [always("hook", refused), ...outage, 10 * minute, always("hook"), 15 * minute],
    ],
  ]);
  tellScenesOf([ntfyTo("hook", { digestOver: 1 })])([
    ["repeats an ambiguous digest as it was, marked", ["hang", lost, {}, 0, many(3), "answer", 2 * minute]],
  ]);
});

/** Of the key, as one of a group that waits. */
const grouped = (alertKey: string, planned: Partial<PlannedDelivery> = {}, heldForMs = 2 * second): Step => [
  { alertKey },
  { heldForMs, planned: { groupName: '["group","all"]', ...planned } },
];
const saying = (alertKey: string, note: string, ...names: string[]) => {
  const links = names.map((name) => ({ label: name, url: `https://charts.example/${name}` }));
  return grouped(alertKey, { extras: { note, links } });
};
const counting = (...titles: string[]) =>
  ({ updates: "count", extras: { with: { count: titles.length, titles } } }) as const;
const damping = (count: number, lowest: number) => {
  const worst = { id: "w", at: 0, severity: "warning" as const };
  return { damped: { count, sinceAt: 0, worst, lowest, highest: 24.1, why: "" } };
};
const titled = (title: string) => ({ planned: { extras: { title } } });
const sixTitled = [..."123456"].map((title): Step => [{ alertKey: title }, titled(`Titled ${title}`)]);
/** Each alert has another behind it that its message counts. */
const countsOthers: Step = (fixture) => {
  const { draftOf } = fixture;
  fixture.draftOf = (facts) => {
    const cause = draftOf(facts, { heldForMs: 4 * second, planned: { groupName: '["group","all"]' } });
    const behind = draftOf(facts, { planned: { route: "behind", ...counting("Pool 1") } });
    return { ...cause, deliveries: [...cause.deliveries, ...behind.deliveries] };
  };
};

describe("a digest", () => {
  tellScenesOf([telegramTo("chat", { digestOver: 3 })])([["shows the titles of routes", [...sixTitled, minute]]]);
  tellScenesOf([chat])([
    ["accounts for each of more than ten that wait", [many(1_000), 75_000]],
    [
      "says what routes say of those that still fire, and the links that these share",
      [
        saying("a", "Call the risk officer.", "Chart", "Pool"),
        saying("b", "Call the risk officer.", "Chart", "Bridge"),
        saying("c", "Ask the bridge's team.", "Chart"),
        saying("d", "It is over.", "Other"),
        [
          { alertKey: "d", status: "resolved" },
          { heldForMs: 2 * second, planned: { groupName: '["group","all"]' } },
        ],
        5_000,
      ],
    ],
    [
      "is followed by a silent message of what a cause in it holds back",
      [
        ...[grouped("bridge"), grouped("sequencer"), 5_000],
        ...[[{ alertKey: "bridge" }, { planned: counting("Pool 1", "Pool 2") }] as Step, 5_000],
      ],
    ],
    ["is not overtaken by what a cause in it holds back", [countsOthers, { alertKey: "bridge" }, 11_000]],
    [
      "says what did not ring before each of its alerts",
      [grouped("a", damping(12, 22.9)), grouped("a", damping(3, 21)), grouped("b"), 5_000],
    ],
  ]);
});

const key = { alertKey: "k", title: "USDC TVL" };
const over = { ...key, status: "resolved" } as const;
const silently: Step = [{ ...key, severity: "info" }, { planned: { extras: { silent: true } } }];
const critical = { ...key, severity: "critical" } as const;
const busy: Outcome = { kind: "retry", reason: "server_error", detail: "busy" };

describe("updates of a key", () => {
  tellScenesOf([chat])([
    ["edit for a repeat within a minute", [{ ...key, value: "4.9" }, 10_000, { ...key, value: "4.7" }, 10_000]],
    ["answer the first message for a later repeat", [key, 5 * minute, key, 10_000]],
    ["answer it for a worse one, however soon", [key, 5_000, critical, 10_000]],
    ["make no sound for what its route has silent", [silently, 10_000]],
    ["make one where a louder alert is in the message", [busy, critical, 200, silently, 10_000]],
    ["edit and answer the first message of what is over, and start anew", [key, 5 * minute, over, 10_000, key, 10_000]],
    [
      "show the title that the route gave each of them, in the first message, its edit and the answer",
      [[key, titled("USDC −5.7 %")], 5 * minute, [over, titled("USDC −0.1 %")], 10_000],
    ],
    ["answer where the message cannot be edited", [key, 5_000, rejected("edit_target_gone"), key, 10_000]],
    ["repeat an edit without an answer unmarked, since that changes nothing more", [key, 5_000, lost, key, minute]],
    ["show repeats that waited together by one edit", [key, 0, key, key, { ...key, value: "9" }, 10_000]],
  ]);
  tellScenesOf([mailTo("mail")])([
    ["are mails of their own, in one thread", [key, 4 * minute, key, 4 * minute, over, 4 * minute, key, 4 * minute]],
  ]);
});

const full = telegramTo("chat", { detail: "full" });
const long = { text: "word ".repeat(1_800) };
/** While a part is sent the whole bot is asked to wait for so long, and perhaps no claim can be given back. */
const askBotToWait =
  (waitMs: number, ...stuck: Parameters<typeof fails>): Step =>
  (fixture) =>
    void fixture.channels.chat?.script.push(async () => {
      fixture.channels.other?.script.push(flood(waitMs, "account"));
      await fixture.play(toOther, fails(...stuck));
      await fixture.clock.sleep(100);
      return sent;
    });

describe("a message of several parts", () => {
  const toChatLong: Step = [long, { to: ["chat"] }];
  tellScenesOf([full, other])([
    ["waits between two of them for longer than a lease", [askBotToWait(10 * minute), toChatLong, 11 * minute]],
    [
      "is sent once though it could not be given back between two of them",
      [askBotToWait(30_000, "releaseClaim"), toChatLong, 3_000, fails(), minute],
    ],
  ]);
  const ofK = { alertKey: "k", ...long };
  tellScenesOf([full])([
    [
      "goes on with the part that was refused, after a restart, for all repeats that it showed together",
      ["stop", ofK, ofK, { kind: "sent", ref: "11" }, flood(90_500), "restart", 5_000, "restart", 3 * minute],
    ],
    ["is given back at a stop between two of them, and goes on afterwards", [long, 0, "stop", "restart", 10_000]],
  ]);
});

/** Ends when it is told to. */
const untilAborted = (signal: AbortSignal, outcome: Outcome) =>
  new Promise<Outcome>((resolve) => signal.addEventListener("abort", () => resolve(outcome)));
const hangingProbe = onChannel("chat", (channel) => {
  channel.probe = (_recipient, signal) => untilAborted(signal, refused);
});
const stopWithin =
  (deadlineMs: number): Step =>
  ({ engine, clock }) =>
    stopEngine(engine, clock, deadlineMs);
const hangingCall = onChannel("chat", ({ script }) => script.push(({ context }) => untilAborted(context.signal, lost)));

describe("an engine that is stopped", () => {
  tellScenesOf([chat])([
    ["records a call that is aborted at the deadline, and repeats it marked", [hangingCall, {}, 0, "restart", minute]],
    [
      "does not wait for ever for a store that refuses",
      [fails("recordAttempt", "saveStatus"), {}, second, "stop", fails(), "restart", minute],
    ],
    [
      "does not wait for a probe",
      [
        ...([kicked, {}, 5_000, hangingProbe, 25 * hour, stopWithin(20 * second)] as Step[]),
        ({ clock }) => `stopped after ${clock.now() - Date.UTC(2026, 10, 22, 13, 0, 5)} ms`,
      ],
    ],
  ]);
});
