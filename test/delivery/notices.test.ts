import { describe } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import { Secret } from "../../src/core/secret.ts";
import { anAlert } from "../support/facts.ts";
import { mailTo, type Named, ntfyTo, type Step, telegramTo } from "./engine-fixture.ts";
import { flood, hour, kicked, lost, minute, refused, refusedRecipient } from "./outcomes.ts";
import { always, doing, fails, many, next, onChannel, probes, type Scene, tellScenesOf, tryNow } from "./tell-scene.ts";

const refusedMessage = { ...kicked, scope: "message", reason: "message_refused", detail: "550 spam" } as const;
const sent = { kind: "sent" } as const;
const gone = { ...kicked, reason: "gone", detail: "answered 410" } as const;
const unanswered = new Promise<Outcome>(() => {});
const hangs = (name: string) =>
  onChannel(name, (channel) => {
    channel.always = () => unanswered;
  });
const otherBot = { id: "8", token: new Secret("8:canary-token"), apiRoot: "http://127.0.0.1:1" };
const [chosen, never] = [{ notices: true }, { notices: false }];
const [chat, hook, other, mail, phone] = [
  telegramTo("chat"),
  ntfyTo("hook"),
  ntfyTo("other"),
  mailTo("mail"),
  ntfyTo("phone"),
];
const [chosenChat, chosenMail] = [telegramTo("chat", chosen), mailTo("mail", ["a@x.io"], chosen)];
const [chosenHook, chosenPhone] = [ntfyTo("hook", chosen), ntfyTo("phone", chosen)];
const to = (...names: string[]) => ({ to: names });
const toChat: Step = [{}, to("chat")];
const drained: Step = [{ title: "Pool drained" }, to("mail")];
/** It is killed before it knows that its notice is stored. */
const killBehindNotice: Step = async ({ unanswered, play }) => {
  unanswered.add("recordNotice");
  await play(30_000);
  unanswered.clear();
  await play("kill", 30_000);
};

describe("notices of a chat to a hook", () => {
  tellScenesOf([chat, hook])([
    [
      "come in one pair while it flaps",
      [1, 2, 3].flatMap(() => [next("chat", ...Array(6).fill(refused)), many(6, to("chat")), 2.5 * minute]),
    ],
    [
      "wait on the page until there is somebody to notify",
      [always("chat", kicked), always("hook", refused), many(6), 20_000, always("hook"), 2 * minute],
    ],
    [
      "say when it works again how long it took, and what is left to do",
      [
        kicked,
        [{ title: "Pool drained" }, to("chat")],
        10_000,
        82 * minute,
        10_000,
        probes("chat", sent),
        tryNow("chat"),
        5_000,
      ],
    ],
    [
      "are told once by a relay that is killed right behind them",
      [kicked, toChat, killBehindNotice, probes("chat", sent), tryNow("chat"), killBehindNotice],
    ],
    [
      "wait while health cannot be saved",
      [fails("saveStatus", "recordNotice"), kicked, toChat, 10_000, fails(), 2_000, "restart", minute],
    ],
    ["name a refused message of the one destination", [next("chat", refusedMessage, refusedMessage), toChat, minute]],
  ]);
  tellScenesOf([telegramTo("chat", { onAmbiguous: "hold" }), hook])([
    ["ask about an alert that is held since nobody knows whether it arrived", [lost, toChat, 5_000]],
    [
      "ask about it when the hook works again, if it did not just then",
      [
        always("hook", refused),
        many(6, to("hook")),
        20_000,
        lost,
        [{ title: "Perhaps" }, to("chat")],
        minute,
        always("hook"),
        5 * minute,
      ],
    ],
  ]);
  tellScenesOf([chat])([
    [
      "reach its readers themselves where there is nobody else",
      [refusedMessage, refusedMessage, {}, 10_000, ({ engine }) => [...engine.figures.refusedMessages]],
    ],
  ]);
});

describe("notices", () => {
  tellScenesOf([chat, ntfyTo("down"), hook])([
    [
      "say in plain words what is wrong and what to do, and lead there",
      [
        kicked,
        always("down", { ...refused, detail: "connect ECONNREFUSED 10.0.0.9:443" }),
        many(6, to("chat", "down")),
        minute,
      ],
    ],
  ]);
  tellScenesOf([chat, other, hook])([
    ["reach somebody within a minute though the one that seemed well hangs", [hangs("other"), kicked, toChat, minute]],
  ]);
  tellScenesOf([other, hook])([
    [
      "do not say that it works again because its address takes connections",
      [probes("other", sent), gone, [{}, to("other")], 5_000, 25 * hour, 10_000, [{}, to("other")], 5_000],
    ],
  ]);
  tellScenesOf([mailTo("mail", ["risk@example.com"]), chat])([
    [
      "are sent elsewhere of an alert that was refused while its destination works, and then count for ten minutes",
      [always("mail", refusedRecipient), drained, 5_000, many(2, to("mail")), 11 * minute],
    ],
    ...(["restart", "kill"] as const).map(
      (how): Scene => [
        `say after a ${how} what was still to be counted, in its time`,
        [
          ...[refusedRecipient, [{ title: "first" }, to("mail")] as Step, 5_000, refusedRecipient],
          ...[[{ title: "second" }, to("mail")] as Step, 5_000, how, 11 * minute, "restart" as const, 11 * minute],
        ],
      ],
    ),
    [
      "say nothing of a failure that a person looks on at, or that the fallback has taken over",
      [
        always("mail", refusedRecipient),
        [{}, { ...to("mail"), purpose: "test" }],
        [{}, { ...to("mail"), fallback: ["chat", hour] }],
        minute,
      ],
    ],
  ]);
  tellScenesOf([mailTo("mail", ["risk@example.com", "treasury@example.com"]), chat])([
    [
      "count messages, and name the alert once, where a mail to several was refused",
      [always("mail", refusedRecipient), drained, 11 * minute],
    ],
  ]);

  const pausedMeanwhile = doing("countByDestination", (real, scene) => async (...asked) => {
    await scene.engine.setPause("chat", "somebody");
    return real(...asked);
  });
  tellScenesOf([chat, hook])([
    [
      "take nothing back that a person has done while they were written",
      [pausedMeanwhile, "restart", kicked, toChat, killBehindNotice],
    ],
  ]);
});

const notice = anAlert({ title: "The account's webhook is another one", severity: "critical", format: "empty" });
const notify: Step = ({ engine }) => void engine.notify(notice);
const notifyInfo: Step = ({ engine }) => void engine.notify({ ...notice, severity: "info" });
const sameChat = (name: string, changes = {}) => telegramTo(name, { chatId: "-1007", ...changes });
const tellNotice = (destinations: Named<string>[], ...scene: Scene) => tellScenesOf(destinations)([scene]);

describe("a notice for everybody", () => {
  tellNotice([chat, hook], "goes to each destination that works, and is remembered in the same step", [
    ...([
      kicked,
      toChat,
      5_000,
      ({ engine }) => engine.notify(notice, { name: "account", state: { told: true } }),
      5_000,
    ] as Step[]),
    ({ store }) => store.loadWatchState("account"),
  ]);

  describe.each<[string, Named<string>[]]>([
    ["those that are set for notices alone", [chat, chosenHook, other]],
    ["all but those that want none", [chat, ntfyTo("hook", never), other]],
    ["a chat once that several destinations lead to", [sameChat("loud"), sameChat("calm")]],
    ["it with a sound where one of them makes it", [sameChat("calm", { silent: true }), sameChat("loud")]],
    [
      "it with a sound also where the silent one is set for notices",
      [sameChat("calm", { silent: true, ...chosen }), sameChat("loud")],
    ],
  ])("goes to %s", (_who, destinations) => {
    tellNotice(destinations, "and no others", [notify, 5_000]);
  });

  tellNotice(
    [sameChat("loud"), sameChat("calm")],
    "goes to a chat that several destinations lead to by one that works",
    [...[always("loud", kicked), [{}, to("loud")] as Step, 5_000, notify, 5_000]],
  );

  describe.each<[string, Named<string>[], Step[]?]>([
    ["at once to one of the others that work", [chosenChat, hook, mail]],
    ["no further where another of those for notices has it", [chosenChat, chosenPhone, hook]],
    ["to one that rings where only a mailbox has it", [chosenChat, chosenMail, hook]],
    ["to the others as well", [chosenChat, hook, ntfyTo("never", never)], [toChat, 5_000]],
  ])("goes %s when one for notices is dead", (_where, destinations, before = []) => {
    tellNotice(destinations, "and once", [always("chat", kicked), ...before, notify, 2 * minute]);
  });
});

describe("a notice that a destination fails", () => {
  const afterHalfAMinute: Step[] = [notifyInfo, 20_000, 10_000, 5 * minute];
  tellScenesOf([chosenMail, hook])([
    ["goes to another after half a minute when the only one for notices hangs", [hangs("mail"), ...afterHalfAMinute]],
    ["goes to another when it asks for an hour of silence", [always("mail", flood(hour)), ...afterHalfAMinute]],
    ["goes to another when it cannot be reached", [always("mail", refused), ...afterHalfAMinute]],
  ]);
  tellScenesOf([chosenChat, hook])([
    ["says instead of whom it comes", [always("chat", kicked), notify, 5_000]],
    [
      "goes on, and once, after the relay is killed in between",
      [
        ...([always("chat", flood(hour)), notify, 10_000, "kill"] as Step[]),
        ...([
          ({ unanswered }) => void unanswered.add("callFallbacks"),
          25_000,
          ({ unanswered }) => unanswered.clear(),
        ] as Step[]),
        ...(["kill", 2 * minute] as Step[]),
      ],
    ],
    [
      "goes nowhere else because no relay ran for a minute",
      [flood(40_000), notify, 5_000, "stop", ({ clock }) => clock.jump(minute), "restart", minute],
    ],
  ]);
  tellNotice([chosenChat, ntfyTo("hook", never)], "waits where nothing works, and is read as soon as something does", [
    ...[always("chat", kicked), notify, 5_000, 3 * hour, minute, always("chat"), probes("chat", sent), 16 * minute],
  ]);
  tellNotice([chat, hook, mail], "makes no notices without end where everything refuses", [
    ...["chat", "hook", "mail"].map((name) => always(name, refusedMessage)),
    ...[toChat, notify, 15 * minute],
    ...[1, 2, 3, 4].flatMap((): Step[] => [({ clock }) => clock.jump(40 * minute), minute]),
  ]);
  tellScenesOf([chat, hook])([
    ["does not count as an alert that did not arrive", [always("chat", kicked), notify, many(2, to("chat")), 5_000]],
    [
      "does not count as one either when it has waited for too long",
      [always("chat", kicked), notify, 5_000, 25 * hour, 10_000, probes("chat", sent), tryNow("chat"), 5_000],
    ],
  ]);
});

describe("a destination that is dead", () => {
  tellNotice([chat, chosenMail, chosenPhone, other], "is reported, and its end, to all that take notices", [
    ...[kicked, toChat, 5_000, probes("chat", sent), 2 * minute],
  ]);
  const quiet = telegramTo("quiet", { silent: true, bot: otherBot } as object);
  tellNotice(
    [chat, chosenMail, quiet, phone],
    "is reported to one that makes a sound where only a mailbox takes notices",
    [...[kicked, toChat, 5_000]],
  );
  let trial = 0;
  const everyOtherTry = onChannel("other", (channel) => {
    channel.always = () => (++trial % 2 === 0 ? refused : gone);
    channel.everyProbe = sent;
  });
  tellNotice([other, hook], "has one notice and one end, whatever its trials say meanwhile", [
    ...[next("other", ...Array(5).fill(refused)), many(5, to("other")), 10_000, everyOtherTry],
    ...[1, 2, 3, 4, 5, 6].flatMap((): Step[] => [[{}, to("other")], 10 * minute]),
    ...[always("other"), 20 * minute],
  ]);
});
