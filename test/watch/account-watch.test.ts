import { describe, expect, it } from "vitest";
import type { AccountReading, Registration } from "../../src/core/ports/account.ts";
import { createTestClock } from "../support/test-clock.ts";
import { formerSecret, ourUrl, publicUrl, refusal, secret, startAccountWatch } from "./account-fixture.ts";
import { tellWatches, type WatchStep, writeView } from "./tell-watch.ts";
import { day, hour, minute } from "./watch-world.ts";

type Options = Parameters<typeof startAccountWatch>[0];
type World = Awaited<ReturnType<typeof startAccountWatch>>;
type Step = WatchStep<World>;

const tellScenes = tellWatches<World, Options>(startAccountWatch, ({ watch }, start) =>
  [writeView(watch.view(), start), watch.known().canPutBack && "can be put back"].filter(Boolean).join(" · "),
);

const elsewhere = "https://other.example/in/7e0d4e7b-secret";
/** Another program changes the account, and so much time passes: by default until the next look. */
const becomes =
  (change: Partial<AccountReading>, ms?: number): Step =>
  (world) =>
    world.becomes(change, ms);
const leads = (webhookUrl: string | null, ms?: number) => becomes({ webhookUrl }, ms);
/** From now on the service fails so, or no more. */
const fails =
  (failure: Error | undefined, ms: number): Step =>
  (world) =>
    world.failing(failure, ms);
/** For two hours at most. */
async function until({ clock }: World, isSo: () => boolean): Promise<void> {
  for (let seconds = 0; seconds < 7_200 && !isSo(); seconds += 1) await clock.advance(1_000);
}
const untilFound =
  (webhook: string): Step =>
  (world) =>
    until(world, () => world.watch.known().answer?.webhook === webhook);
const untilTrouble: Step = (world) => until(world, () => world.watch.view().verdict === "trouble");
const looks: Step = ({ calls }) => `${calls.looks} looks`;
/** What it is called, and what is kept of it under the name of the other account's watch: nothing. */
const names: Step = async ({ watch, scene }) => [watch.view().name, await scene.store.loadWatchState("account")];
const putBack: Step = ({ watch }) => watch.putBack().catch(String);
const sets: Step = ({ calls }) => calls.sets;
const registers =
  (changes: Partial<Registration>): Step =>
  ({ register }) =>
    register({ accountId: "acc_1", publicUrl, messengerChannelId: null, at: 1, ...changes });
/** What setup left is changed, and the watch does not hear of it. */
const hasRegistered =
  (changes?: Partial<Registration>): Step =>
  ({ registered }) => {
    const before = { accountId: "acc_1", publicUrl, messengerChannelId: null, at: 0 };
    registered.value = changes && { ...before, ...changes };
  };
const answersAt =
  (...urls: string[]): Step =>
  (world) => {
    world.answered = urls;
  };
/** Whatever is put back is given that form. */
const gives =
  (form: string): Step =>
  (world) => {
    Object.assign(world, { givenForm: form, answered: [form] });
    world.account.webhookUrl = elsewhere;
  };
const times = (count: number, ...steps: Step[]) => Array.from({ length: count }, () => steps).flat();
const rounds = (count: number, stepOf: (round: number) => Step[]) =>
  Array.from({ length: count }, (_, round) => stepOf(round)).flat();

const unregistered = { registered: null, webhookUrl: elsewhere };
const evil = `https://evil.example/hooks/${secret}`;

describe("the watch over the account", () => {
  tellScenes([
    [
      "of a source tells, remembers and advises in its own name",
      [hour, leads(elsewhere), "restart", hour, names],
      { source: "desk" },
    ],
    [
      "tells of another program's PUT once, within one interval, also while the service says nothing of it, and when it is well",
      [
        hour,
        leads(elsewhere),
        3 * day,
        fails(refusal("upstream_failed"), 20 * minute),
        fails(undefined, 0),
        leads(ourUrl),
      ],
    ],
    [
      "tells within one interval although the looks that are to confirm it fail, and asks no service forever",
      [
        (world) => {
          world.account.webhookUrl = elsewhere;
          let looks = 0;
          world.fails = () => ([2, 3].includes(++looks) ? refusal("upstream_failed") : undefined);
        },
        5 * minute + 20_000,
        leads(ourUrl, 0),
        ...[untilFound("here"), looks, fails(refusal("upstream_bad_answer"), hour), looks],
      ],
    ],
    [
      "looks at once when setup has run",
      [leads(null, 0), registers({ webhookOff: true }), leads(ourUrl, 0), registers({ at: 2 })],
      unregistered,
    ],
    [
      "tells of what lasts for ten minutes, however often it has come and gone before, and of that in one notice",
      [
        ...times(5, leads(elsewhere, 7 * minute), leads(ourUrl, 10 * minute)),
        leads(elsewhere, 17 * minute),
        3 * day,
        leads(ourUrl, 6 * minute),
      ],
    ],
    [
      "tells once of another program's PUT although it is restarted between the look that finds it and the next",
      [leads(elsewhere, 0), ...times(3, untilFound("elsewhere"), "restart"), 10_000, "restart", hour],
    ],
    [
      "tells of each other address anew, but of no more than three in a day",
      [...rounds(20, (round) => [leads(`https://other.example/${round}`, 10 * minute)]), day],
    ],
    [
      "goes on although what it found cannot be kept",
      [hasRegistered(), ({ registered }) => void Object.assign(registered, { isUnwritable: true }), "restart", hour],
    ],
    [
      "tells of another host although this relay answers behind it, and says so",
      [answersAt(evil), leads(evil), answersAt(), 5 * minute, putBack, sets],
    ],
    [
      "takes what it has put back for right when the service gives it another form, and nothing else",
      [gives(`${ourUrl}/`), putBack, gives("http://127.0.0.2/"), putBack],
    ],
    [
      "tells that nothing is sent anywhere, of the channel and of another account, and compares nothing else with that",
      [
        ...[leads(null), leads(ourUrl), becomes({ messengerChannelId: "-100555" })],
        becomes({ id: "acc_2", webhookUrl: elsewhere }),
        becomes({ id: "acc_1", webhookUrl: ourUrl, messengerChannelId: null }),
      ],
    ],
    [
      "compares nothing before setup has run, and holds the account to what it finds to be its own",
      [day, leads(ourUrl), ({ registered }) => registered.value, leads(elsewhere)],
      unregistered,
    ],
    [
      "says nothing of what setup itself has done meanwhile",
      // The look that finds it comes before setup has said so.
      [
        leads(null, 0),
        untilFound("nowhere"),
        hasRegistered({ webhookOff: true }),
        day,
        hasRegistered(),
        leads(elsewhere, day),
      ],
    ],
  ]);

  it("never shows a secret of an address, nor keeps one", async () => {
    const world = await startAccountWatch();
    world.account.webhookUrl = elsewhere;
    await world.failing(undefined, hour);
    await world.becomes({ webhookUrl: `${publicUrl}/hooks/some-unknown-secret` }, hour);
    await world.failing(refusal("upstream_failed", `answered 500: cannot reach ${ourUrl} or ${elsewhere}`), hour);
    const alerts = await world.scene.store.listAlerts({ limit: 10 });
    const state = await world.scene.store.loadWatchState("account");
    const all = JSON.stringify([alerts, state, world.watch.view(), world.watch.known()]);
    expect(alerts).toHaveLength(3);
    expect(all).toContain("with a secret that this relay does not take");
    expect(all).not.toMatch(new RegExp(`${secret}|7e0d4e7b|some-unknown-secret`));
  });

  const local = "http://127.0.0.1:8080";
  const localForms = ["HTTP://LOCALHOST:8080", "http://[::1]:8080"].map((place) => `${place}/hooks/${secret}/`);

  const ofOld = `${publicUrl}/hooks/${formerSecret}`;
  const ofCapitals = `HTTPS://Alerts.Example.com:443/hooks/${secret}/`;
  it.each([...[ofOld, ofCapitals].map((form) => [publicUrl, form]), ...localForms.map((form) => [local, form])])(
    "takes another form of %s for its own, and an older secret: %s",
    async (place, webhookUrl) => {
      const registered = { accountId: "acc_1", publicUrl: place, messengerChannelId: null, at: 0 };
      const world = await startAccountWatch({ publicUrl: place, registered, webhookUrl });
      await world.clock.advance(hour);
      expect(world.watch.known()).toMatchObject({ answer: { webhook: "here" }, canPutBack: false });
      expect(await world.watch.putBack()).toBe("unchanged");
      expect(world.lines()).toEqual([]);
    },
  );
});

const unreachable = refusal("upstream_unreachable", "alerting: GET /account: connection refused");
const unauthorized = refusal("upstream_unauthorized", "alerting: GET /account answered 401: The API key has expired");
const forbidden = refusal("upstream_forbidden", "alerting: GET /account answered 403");
const onceUnauthorized: Step = (world) => {
  let left = 1;
  world.fails = () => (left-- > 0 ? unauthorized : undefined);
};
const isEmpty =
  (account: AccountReading): Step =>
  (world) => {
    world.account = account;
  };
const whole = { id: "acc_1", name: "Desk", webhookUrl: ourUrl, messengerChannelId: null };
const oddAnswers: [string, Error | undefined][] = [
  ["a page", refusal("upstream_bad_answer", "alerting: GET /account answered an HTML page")],
  ["a rate limit", refusal("upstream_rate_limited", "alerting: GET /account answered 429: slow down")],
  ["another interface", refusal("upstream_not_found", "alerting: GET /account answered 404")],
  ["an empty account", undefined],
];

describe("a service that fails", () => {
  tellScenes([
    [
      "is told of after half an hour without an answer, and when it answers again",
      [fails(unreachable, 29 * minute), 11 * minute, 5 * day, fails(undefined, 5 * minute)],
    ],
    [
      "is told of half an hour after its last answer, though that was an odd one",
      [fails(refusal("upstream_not_found"), 5 * minute), fails(unreachable, 42 * minute)],
    ],
    [
      "that refuses the key is trouble at once, in its own words, and told at the second refusal 30 s later",
      [hour, fails(unauthorized, 0), untilTrouble, 29_000, 2_000, "restart", day, fails(undefined, 2 * minute)],
      { everyMs: minute },
    ],
    [
      "that still refuses the key after a restart is in the same trouble, and is asked again in 30 s",
      [fails(unauthorized, 2 * hour), "restart", untilTrouble, looks, 31_000, looks],
      { everyMs: hour },
    ],
    [
      "that refuses the key a fourth time within a day is asked again in 30 s, as it says",
      [
        ...times(3, fails(unauthorized, 2 * hour), fails(undefined, 2 * hour)),
        fails(unauthorized, 0),
        untilTrouble,
        looks,
        31_000,
        looks,
      ],
      { everyMs: hour },
    ],
    [
      "that refuses the key for a moment is no notice, and without a word of why it is guessed",
      [onceUnauthorized, hour, fails(forbidden, 6 * minute)],
    ],
    // The same outage in other words is the same outage.
    ...oddAnswers.map(([what, failure]): [string, Step[]] => [
      `that answers ${what} is told of after an hour, with what it answered, once, and when it is over`,
      [
        ...[isEmpty({}), fails(failure, 59 * minute), 10 * minute, fails(unreachable, 0), "restart" as const, 2 * day],
        ...[isEmpty(whole), fails(undefined, 6 * minute)],
      ],
    ]),
    [
      "is told of at each outage of more than half an hour, a fourth in a day as well",
      times(4, fails(unreachable, 40 * minute), fails(undefined, 20 * minute)),
    ],
    ["that says only which account it is, is no alarm", [isEmpty({ id: "acc_1" }), 2 * day]],
  ]);

  it("makes no noise in 30 days of 5 % errors, time-outs and nonsense, and ten restarts", async () => {
    const world = await startAccountWatch();
    const kinds = ["unreachable", "failed", "unauthorized", "bad_answer", "rate_limited", "not_found"] as const;
    const failures = kinds.map((kind) => refusal(`upstream_${kind}`));
    let draws = 1;
    let failed = 0;
    let last: Error | undefined;
    world.fails = () => {
      draws = (draws * 48271) % 2147483647;
      const isFailing = draws / 2147483647 < 0.05;
      const failure = isFailing ? failures[draws % failures.length] : undefined;
      // Two refusals of the key, one after the other, are news.
      last = failure?.code === "upstream_unauthorized" && last !== undefined ? undefined : failure;
      failed += last === undefined ? 0 : 1;
      return last;
    };
    for (let round = 0; round < 10; round += 1) {
      await world.clock.advance(3 * day);
      await world.restart();
    }
    expect(world.calls.looks).toBeGreaterThan(8640);
    expect(failed).toBeGreaterThan(350);
    expect(world.lines()).toEqual([]);
  });
});

/** The key is good until so long after the scene's beginning, as the service says from now on. */
const endsAfter =
  (ms: number): Step =>
  (world) => {
    world.account.keyExpiresAt = createTestClock().now() + ms;
  };

describe("the end of the key", () => {
  tellScenes([
    [
      "is told of four times, whatever the restarts, and once that there is a new one",
      [
        endsAfter(20 * day),
        // Some services count from the moment of the answer.
        ...rounds(20, (round) => [day, endsAfter(20 * day + round * 1000), "restart"]),
        ...[endsAfter(110 * day), 10 * minute],
      ],
    ],
    [
      "is told once where a relay starts within it, also by a clock that is an hour off and set right",
      [endsAfter(7 * day + 1000), hour, endsAfter(7 * day + hour), 30 * minute],
    ],
  ]);

  it.each([0, -1, Date.UTC(2001, 4, 1), undefined])(
    "is unknown where the key is taken and the date is %s",
    async (at) => {
      const world = await startAccountWatch({ keyExpiresAt: at });
      await world.clock.advance(2 * day);
      expect(world.lines()).toEqual([]);
      expect(world.watch.view().verdict).toBe("well");
      // Metrics have no end to be alarmed by either.
      expect(world.watch.known().answer?.keyExpiresAt).toBeUndefined();
    },
  );
});

/** Another relay wants the account as well, for so long. */
const fight =
  (ms: number): Step =>
  async (world) => {
    for (let gone = 0; gone < ms; gone += 1_000)
      await world.becomes(world.account.webhookUrl === ourUrl ? { webhookUrl: elsewhere } : {}, 1_000);
  };
const refusesSets: Step = (world) => {
  world.fails = (call) => (call === "set" ? refusal("upstream_failed") : undefined);
};
const other = `https://relay.example/hooks/${secret}`;
const byItself = { putBack: true };

describe("putting back", () => {
  tellScenes([
    ["is done by one call, and only what differs", [putBack, leads(elsewhere), putBack, sets, 20_000]],
    [
      "is refused for another account, where nothing was registered, and after --webhook-off",
      [
        ...[becomes({ id: "acc_2", webhookUrl: elsewhere }, 0), putBack, hasRegistered(), putBack],
        ...[becomes({ id: "acc_1" }, 0), hasRegistered({ webhookOff: true }), putBack, sets],
      ],
    ],
    [
      "does not happen by itself for another account",
      [becomes({ id: "acc_2", webhookUrl: elsewhere }, day), sets],
      byItself,
    ],
    ["does not happen by itself where that is not configured", [leads(elsewhere, day), sets]],
    [
      "happens by itself three times a day at most, over restarts and failures",
      [
        ...rounds(12, (round): Step[] => [
          leads(`https://other.example/${round}`, 15 * minute),
          ...(round === 1 ? [refusesSets] : []),
          ...(round % 2 === 1 ? ["restart" as const] : []),
        ]),
        ...[sets, fails(undefined, day), sets],
      ],
      byItself,
    ],
    [
      "leaves an address where this relay answers to people, also when it puts the channel back",
      [answersAt(other), leads(other, hour), sets, becomes({ messengerChannelId: "-100555" }, hour), sets],
      byItself,
    ],
    [
      "is given up three times a day, and people who were told that it is put back are told that, once",
      [fight(20 * minute), sets, fight(3 * hour), day],
      byItself,
    ],
  ]);
});
