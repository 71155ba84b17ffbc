import { describe, expect, it } from "vitest";
import { formerSecret, ourUrl, publicUrl, refusal, secret, startAccountWatch } from "./account-fixture.ts";
import { day, hour, minute } from "./watch-world.ts";

const elsewhere = "https://other.example/in/7e0d4e7b-secret";

it("the watch over the account of a source tells, remembers and advises in its own name", async () => {
  const world = await startAccountWatch({ source: "desk" });
  await world.clock.advance(hour);
  await world.becomes({ webhookUrl: elsewhere });
  const told = "critical firing: desk: The account sends its alerts to https://other.example/… and no longer here";
  expect(world.lines()).toEqual([told]);
  expect(world.told.at(-1)?.alertKey).toBe("tocsin:account:desk:webhook");
  expect(await world.scene.store.loadWatchState("account")).toBeUndefined();
  const { name, troubles } = world.watch.view();
  expect(name).toBe("account:desk");
  expect(troubles).toEqual([
    expect.stringContaining("Put it back on the page Account, or with: tocsin setup --source desk --take-over."),
  ]);
  await world.restart();
  await world.clock.advance(hour);
  expect(world.lines()).toEqual([told]);
});

describe("the watch over the account", () => {
  it("tells of another program's PUT once, within one interval, and when it is well", async () => {
    const world = await startAccountWatch();
    await world.clock.advance(hour);
    expect(world.lines()).toEqual([]);
    expect(world.watch.view()).toMatchObject({ verdict: "well", troubles: [] });
    await world.becomes({ webhookUrl: elsewhere });
    const told = "critical firing: The account sends its alerts to https://other.example/… and no longer here";
    expect(world.lines()).toEqual([told]);
    // Other senders' alerts arrive.
    expect(world.told.at(-1)?.text).toContain("No alert of the account arrives here until that is fixed.");
    await world.clock.advance(3 * day);
    expect(world.lines()).toEqual([told]);
    const { verdict, troubles } = world.watch.view();
    expect(verdict).toBe("trouble");
    expect(troubles).toEqual([
      expect.stringContaining("Put it back on the page Account, or with: tocsin setup --take-over."),
    ]);
    // It stays so while the service says nothing of it.
    await world.failing(refusal("upstream_failed"), 20 * minute);
    expect(world.watch.view()).toMatchObject({ verdict: "trouble", summary: expect.stringContaining("other.example") });
    expect(world.watch.known().canPutBack).toBe(true);
    world.fails = () => undefined;
    await world.becomes({ webhookUrl: ourUrl });
    expect(world.watch.view()).toMatchObject({ verdict: "well" });
    expect(world.lines()).toEqual([told, "info resolved: The account sends its alerts here again"]);
    expect(world.watch.known().canPutBack).toBe(false);
  });

  it("tells within one interval although the look that is to confirm it fails, and asks no service forever", async () => {
    const world = await startAccountWatch();
    world.account.webhookUrl = elsewhere;
    let looks = 0;
    world.fails = () => {
      looks += 1;
      return looks === 2 || looks === 3 ? refusal("upstream_failed") : undefined;
    };
    await world.clock.advance(5 * minute + 20_000);
    expect(world.lines()).toHaveLength(1);
    world.account.webhookUrl = ourUrl;
    while (world.watch.known().answer?.webhook !== "here") await world.clock.advance(1_000);
    world.fails = () => refusal("upstream_bad_answer");
    const before = world.calls.looks;
    await world.clock.advance(hour);
    expect(world.calls.looks - before).toBeLessThan(25);
  });

  it("looks at once when setup has run", async () => {
    const world = await startAccountWatch({ registered: null, webhookUrl: elsewhere });
    expect(world.watch.view()).toMatchObject({ verdict: "idle" });
    world.account.webhookUrl = null;
    await world.register({ accountId: "acc_1", publicUrl, messengerChannelId: null, webhookOff: true, at: 1 });
    expect(world.watch.view()).toMatchObject({ summary: "setup has turned the account's webhook off" });
    world.account.webhookUrl = ourUrl;
    await world.register({ accountId: "acc_1", publicUrl, messengerChannelId: null, at: 2 });
    expect(world.watch.view()).toMatchObject({ verdict: "well" });
  });

  it("tells of what lasts for ten minutes, however often it has come and gone before, and of that in one notice", async () => {
    const world = await startAccountWatch();
    for (let round = 0; round < 5; round += 1) {
      await world.becomes({ webhookUrl: elsewhere }, 7 * minute);
      await world.becomes({ webhookUrl: ourUrl }, 10 * minute);
    }
    const told = "critical firing: The account sends its alerts to https://other.example/… and no longer here";
    expect(world.lines().filter((notice) => notice === told)).toHaveLength(3);
    expect(world.lines().at(-1)).toContain("sends its alerts here again");
    await world.becomes({ webhookUrl: elsewhere }, 17 * minute);
    expect(world.lines().at(-1)).toBe(told);
    expect(world.told.at(-1)?.text).toContain("It also came and went 2 times before.");
    await world.clock.advance(3 * day);
    expect(world.lines().filter((notice) => notice === told)).toHaveLength(4);
    await world.becomes({ webhookUrl: ourUrl }, 6 * minute);
    expect(world.lines().at(-1)).toContain("sends its alerts here again");
  });

  it("tells once of another program's PUT although it is restarted between the look that finds it and the next", async () => {
    const world = await startAccountWatch();
    world.account.webhookUrl = elsewhere;
    for (let kills = 0; kills < 3; kills += 1) {
      while (world.watch.known().answer?.webhook !== "elsewhere") await world.clock.advance(1_000);
      await world.restart();
    }
    await world.clock.advance(10_000);
    expect(world.lines()).toHaveLength(1);
    await world.restart();
    await world.clock.advance(hour);
    expect(world.lines()).toHaveLength(1);
  });

  it("tells of each other address anew, but of no more than three in a day", async () => {
    const world = await startAccountWatch();
    for (let round = 0; round < 20; round += 1) {
      await world.becomes({ webhookUrl: `https://other.example/${round}` }, 10 * minute);
    }
    expect(world.lines()).toHaveLength(3);
    await world.clock.advance(day);
    expect(world.lines()).toHaveLength(4);
  });

  it("goes on although what it found cannot be kept", async () => {
    const world = await startAccountWatch({ registered: null });
    world.registered.isUnwritable = true;
    world.registered.value = undefined;
    await world.clock.advance(hour);
    expect(world.watch.view().verdict).toBe("well");
  });

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

  it("tells of another host although this relay answers behind it, and says so", async () => {
    const world = await startAccountWatch();
    const other = `https://evil.example/hooks/${secret}`;
    world.answered = [other];
    await world.becomes({ webhookUrl: other });
    const answered =
      "The account sends its alerts to https://evil.example/…, another address than the registered one; this relay answers there";
    expect(world.lines()).toEqual([`warning firing: ${answered}`]);
    expect(world.watch.view()).toMatchObject({
      summary: answered,
      level: "warn",
      troubles: [
        `${answered}. Its host may keep alerts for itself. If it is meant, set PUBLIC_URL to it and run: tocsin setup. If not: Put it back on the page Account, or with: tocsin setup --take-over.`,
      ],
    });
    expect(world.watch.known()).toMatchObject({ answer: { webhook: "answered" }, canPutBack: true });
    world.answered = [];
    await world.clock.advance(5 * minute);
    expect(world.lines().slice(1)).toEqual([
      "critical firing: The account sends its alerts to https://evil.example/… and no longer here",
    ]);
    expect(await world.watch.putBack()).toBe("put-back");
    expect(world.account.webhookUrl).toBe(ourUrl);
  });

  it("takes what it has put back for right when the service gives it another form", async () => {
    const world = await startAccountWatch();
    world.account.webhookUrl = elsewhere;
    world.givenForm = `${ourUrl}/`;
    expect(await world.watch.putBack()).toBe("put-back");
    world.givenForm = "http://127.0.0.2/";
    world.answered = [world.givenForm];
    world.account.webhookUrl = elsewhere;
    await expect(world.watch.putBack()).rejects.toThrow("reads back differently");
  });

  it("tells that nothing is sent anywhere, of the channel and of another account, and compares nothing else with that", async () => {
    const world = await startAccountWatch();
    await world.becomes({ webhookUrl: null });
    await world.becomes({ webhookUrl: ourUrl });
    await world.becomes({ messengerChannelId: "-100555" });
    expect(world.watch.view().troubles).toEqual([
      expect.stringContaining("Put it back on the page Account, or with: tocsin setup --no-channel."),
    ]);
    await world.becomes({ id: "acc_2", webhookUrl: elsewhere });
    await world.becomes({ id: "acc_1", webhookUrl: ourUrl, messengerChannelId: null });
    expect(world.lines()).toEqual([
      "critical firing: The account's webhook was switched off",
      "info resolved: The account sends its alerts here again",
      "warning firing: The account's messenger channel was changed from none to -100555",
      "critical firing: The API key belongs to another account than the one that was set up",
      "info resolved: The API key belongs to the account that was set up",
      "info resolved: The account has no messenger channel again, as setup left it",
    ]);
  });

  it("compares nothing before setup has run, and holds the account to what it finds to be its own", async () => {
    const world = await startAccountWatch({ registered: null, webhookUrl: elsewhere });
    await world.clock.advance(day);
    expect(world.lines()).toEqual([]);
    expect(world.watch.view()).toMatchObject({
      verdict: "idle",
      summary: expect.stringContaining("not registered here yet"),
    });
    await world.becomes({ webhookUrl: ourUrl });
    expect(world.registered.value).toMatchObject({ accountId: "acc_1", publicUrl, messengerChannelId: null });
    await world.becomes({ webhookUrl: elsewhere });
    expect(world.lines()).toHaveLength(1);
  });

  it("says nothing of what setup itself has done meanwhile", async () => {
    const world = await startAccountWatch();
    world.account.webhookUrl = null;
    // The look that finds it comes before setup has said so.
    while (world.watch.known().answer?.webhook !== "nowhere") await world.clock.advance(1_000);
    const { value } = world.registered;
    if (value) world.registered.value = { ...value, webhookOff: true };
    await world.clock.advance(day);
    expect(world.watch.view()).toMatchObject({ verdict: "idle" });
    world.registered.value = undefined;
    await world.becomes({ webhookUrl: elsewhere }, day);
    expect(world.lines()).toEqual([]);
  });
});

describe("a service that fails", () => {
  const unreachable = refusal("upstream_unreachable", "alerting: GET /account: connection refused");
  const [gone, back] = [
    "warning firing: The alerting service does not answer",
    "info resolved: The account can be looked at again",
  ];

  it("is told of after half an hour without an answer, and when it answers again", async () => {
    const world = await startAccountWatch();
    await world.failing(unreachable, 29 * minute);
    expect(world.lines()).toEqual([]);
    await world.clock.advance(11 * minute);
    expect(world.lines()).toEqual([gone]);
    await world.clock.advance(5 * day);
    await world.failing(undefined, 5 * minute);
    expect(world.lines()).toEqual([gone, back]);
  });

  it("is told of half an hour after its last answer, though that was an odd one", async () => {
    const world = await startAccountWatch();
    await world.failing(refusal("upstream_not_found", "alerting: GET /account answered 404"), 5 * minute);
    await world.failing(unreachable, 42 * minute);
    expect(world.lines()).toEqual([gone]);
  });

  it("that refuses the key is trouble at once, in its own words, and told at the second refusal 30 s later", async () => {
    const world = await startAccountWatch({ everyMs: minute });
    await world.clock.advance(hour);
    const expired = refusal("upstream_unauthorized", "alerting: GET /account answered 401: The API key has expired");
    world.fails = () => expired;
    while (world.watch.view().verdict !== "trouble") await world.clock.advance(1_000);
    const { since } = world.watch.view();
    expect(world.clock.now() - Number(since)).toBeLessThan(1_000);
    expect(world.watch.view()).toMatchObject({
      summary: "The alerting service refused the API key",
      reason: "The API key has expired",
      level: "warn",
      note: "it is asked again in 30 s",
      troubles: [expect.stringMatching(/At .* UTC: The API key has expired\. It is asked again in 30 s\./)],
    });
    await world.clock.advance(29_000);
    expect(world.lines()).toEqual([]);
    await world.clock.advance(2_000);
    const refused = "critical firing: The alerting service refuses the API key";
    expect(world.lines()).toEqual([refused]);
    expect(world.told.at(-1)?.text).toContain(
      "The API key has expired. No alert is sent with such a key. Ask the service",
    );
    expect(world.watch.view()).toMatchObject({ verdict: "trouble", since });
    expect(world.watch.view()).not.toHaveProperty("level");
    await world.restart();
    await world.clock.advance(day);
    await world.failing(undefined, 2 * minute);
    expect(world.lines()).toEqual([refused, "info resolved: The alerting service takes the API key"]);
  });

  it("that still refuses the key after a restart is in the same trouble, and is asked again in 30 s", async () => {
    const world = await startAccountWatch({ everyMs: hour });
    await world.failing(refusal("upstream_unauthorized"), 2 * hour);
    expect(world.lines()).toHaveLength(1);
    await world.restart();
    while (world.watch.view().verdict !== "trouble") await world.clock.advance(1_000);
    const { looks } = world.calls;
    expect(world.watch.view()).toMatchObject({ summary: "The alerting service refuses the API key" });
    expect(world.watch.view()).not.toHaveProperty("level");
    await world.clock.advance(31_000);
    expect(world.calls.looks).toBe(looks + 1);
    expect(world.lines()).toHaveLength(1);
  });

  it("that refuses the key a fourth time within a day is asked again in 30 s, as it says", async () => {
    const world = await startAccountWatch({ everyMs: hour });
    const turn = async (isRefused: boolean) => {
      await world.failing(isRefused ? refusal("upstream_unauthorized") : undefined, 2 * hour);
    };
    for (let round = 1; round <= 3; round += 1) {
      await turn(true);
      await turn(false);
    }
    expect(world.lines()).toHaveLength(6);
    world.fails = () => refusal("upstream_unauthorized");
    while (world.watch.view().verdict !== "trouble") await world.clock.advance(1_000);
    const { looks } = world.calls;
    expect(world.watch.view()).toMatchObject({ note: "it is asked again in 30 s" });
    await world.clock.advance(31_000);
    expect(world.calls.looks).toBe(looks + 1);
    expect(world.watch.view()).not.toHaveProperty("note");
  });

  it("that refuses the key for a moment is no notice, and without a word of why it is guessed", async () => {
    const world = await startAccountWatch();
    let left = 1;
    world.fails = () => (left-- > 0 ? refusal("upstream_unauthorized") : undefined);
    await world.clock.advance(hour);
    expect(world.lines()).toEqual([]);
    await world.failing(refusal("upstream_forbidden", "alerting: GET /account answered 403"), 6 * minute);
    expect(world.told.at(-1)?.text).toContain("answered 403. It may have expired or been revoked.");
  });

  it.each([
    ["a page", () => refusal("upstream_bad_answer", "alerting: GET /account answered an HTML page")],
    ["a rate limit", () => refusal("upstream_rate_limited", "alerting: GET /account answered 429: slow down")],
    ["another interface", () => refusal("upstream_not_found", "alerting: GET /account answered 404")],
    ["an empty account", () => undefined],
  ])(
    "that answers %s is told of after an hour, with what it answered, once, and when it is over",
    async (_what, fails) => {
      const world = await startAccountWatch();
      const account = { ...world.account };
      world.fails = fails;
      world.account = {};
      await world.clock.advance(59 * minute);
      expect(world.lines()).toEqual([]);
      expect(world.watch.view()).toMatchObject({
        verdict: "unknown",
        summary: expect.stringContaining("cannot tell: "),
      });
      await world.clock.advance(10 * minute);
      const blind = "warning firing: The account cannot be looked at";
      expect(world.lines()).toEqual([blind]);
      const notice = world.told.at(-1);
      const said = fails()?.message ?? "does not say which account it is";
      expect(notice?.text).toMatch(/^Not since \d+ \w+ \d{4}, .* UTC, and last: /);
      expect(notice?.text).toContain(said);
      // The same outage in other words is the same outage.
      world.fails = () => refusal("upstream_unreachable");
      await world.restart();
      await world.clock.advance(2 * day);
      expect(world.lines()).toEqual([blind]);
      world.fails = () => undefined;
      world.account = account;
      await world.clock.advance(6 * minute);
      expect(world.lines()).toEqual([blind, "info resolved: The account can be looked at again"]);
    },
  );

  it("is told of at each outage of more than half an hour, a fourth in a day as well", async () => {
    const world = await startAccountWatch();
    for (let outage = 0; outage < 4; outage += 1) {
      await world.failing(refusal("upstream_unreachable"), 40 * minute);
      await world.failing(undefined, 20 * minute);
    }
    const [gone, over] = world.lines();
    expect(world.lines()).toEqual([gone, over, gone, over, gone, over, gone, over]);
  });

  it("that says only which account it is, is no alarm", async () => {
    const world = await startAccountWatch();
    world.account = { id: "acc_1" };
    await world.clock.advance(2 * day);
    expect(world.watch.view().summary).toBe(
      "cannot tell: the service's answer does not say where its alerts go and which messenger channel it has",
    );
    expect(world.lines()).toEqual([]);
  });

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

it("the end of the key is told of four times, whatever the restarts, and once that there is a new one", async () => {
  const world = await startAccountWatch();
  const expiresAt = world.clock.now() + 20 * day;
  world.account.keyExpiresAt = expiresAt;
  for (let round = 0; round < 20; round += 1) {
    await world.clock.advance(day);
    // Some services count from the moment of the answer.
    world.account.keyExpiresAt = expiresAt + round * 1000;
    await world.restart();
  }
  const title = "The API key of the alerting service expires";
  const told = [
    `warning firing: ${title} in 14 days`,
    `warning firing: ${title} in 7 days`,
    `critical firing: ${title} in 3 days`,
    `critical firing: ${title} within a day`,
  ];
  expect(world.lines()).toEqual(told);
  await world.becomes({ keyExpiresAt: world.clock.now() + 90 * day }, 10 * minute);
  expect(world.lines()).toEqual([...told, "info resolved: The API key of the alerting service is good for longer"]);
});

it("the end of the key is told once where a relay starts within it, also by a clock that is an hour off and set right", async () => {
  const world = await startAccountWatch();
  await world.becomes({ keyExpiresAt: world.clock.now() + 7 * day + 1000 }, hour);
  await world.becomes({ keyExpiresAt: Number(world.account.keyExpiresAt) + hour }, 30 * minute);
  expect(world.lines()).toEqual(["warning firing: The API key of the alerting service expires in 7 days"]);
});

it.each([0, -1, Date.UTC(2001, 4, 1), undefined])(
  "the end of the key is unknown where the key is taken and the date is %s",
  async (at) => {
    const world = await startAccountWatch({ keyExpiresAt: at });
    await world.clock.advance(2 * day);
    expect(world.lines()).toEqual([]);
    expect(world.watch.view().verdict).toBe("well");
    // Metrics have no end to be alarmed by either.
    expect(world.watch.known().answer?.keyExpiresAt).toBeUndefined();
  },
);

describe("putting back", () => {
  it("is done by one call, and only what differs", async () => {
    const world = await startAccountWatch();
    expect(await world.watch.putBack()).toBe("unchanged");
    await world.becomes({ webhookUrl: elsewhere });
    expect(await world.watch.putBack()).toBe("put-back");
    expect(world.calls.sets).toEqual([{ webhookUrl: ourUrl }]);
    await world.clock.advance(20_000);
    expect(world.lines()).toHaveLength(2);
    expect(world.watch.view().verdict).toBe("well");
  });

  it("is refused for another account, where nothing was registered, and after --webhook-off", async () => {
    const world = await startAccountWatch();
    Object.assign(world.account, { id: "acc_2", webhookUrl: elsewhere });
    await expect(world.watch.putBack()).rejects.toThrow("another account");
    const { value } = world.registered;
    world.registered.value = undefined;
    await expect(world.watch.putBack()).rejects.toThrow("not registered from here yet");
    world.account.id = "acc_1";
    if (value) world.registered.value = { ...value, webhookOff: true };
    await expect(world.watch.putBack()).rejects.toThrow("turned the account's webhook off");
    const own = await startAccountWatch({ putBack: true });
    await own.becomes({ id: "acc_2", webhookUrl: elsewhere }, day);
    expect([world.calls.sets, own.calls.sets]).toEqual([[], []]);
  });

  it("happens by itself only where that is configured, three times a day at most, over restarts and failures", async () => {
    const plain = await startAccountWatch();
    plain.account.webhookUrl = elsewhere;
    await plain.clock.advance(day);
    expect(plain.calls.sets).toEqual([]);
    const world = await startAccountWatch({ putBack: true });
    for (let round = 0; round < 12; round += 1) {
      await world.becomes({ webhookUrl: `https://other.example/${round}` }, 15 * minute);
      if (round === 1) world.fails = (call) => (call === "set" ? refusal("upstream_failed") : undefined);
      if (round % 2 === 1) await world.restart();
    }
    expect(world.calls.sets).toHaveLength(3);
    await world.failing(undefined, day);
    expect(world.calls.sets).toHaveLength(4);
    expect(world.account.webhookUrl).toBe(ourUrl);
  });

  it("leaves an address where this relay answers to people, also when it puts the channel back", async () => {
    const world = await startAccountWatch({ putBack: true });
    const other = `https://relay.example/hooks/${secret}`;
    world.answered = [other];
    await world.becomes({ webhookUrl: other }, hour);
    expect(world.calls.sets).toEqual([]);
    expect(world.watch.view().troubles.join()).not.toContain("puts it back now");
    await world.becomes({ messengerChannelId: "-100555" }, hour);
    expect(world.calls.sets).toEqual([{ messengerChannelId: null }]);
    expect(world.account.webhookUrl).toBe(other);
  });

  it("is given up three times a day, and people who were told that it is put back are told that, once", async () => {
    const world = await startAccountWatch({ putBack: true });
    // Another relay wants the account as well.
    const fight = async (ms: number) => {
      for (let gone = 0; gone < ms; gone += 1_000)
        await world.becomes(world.account.webhookUrl === ourUrl ? { webhookUrl: elsewhere } : {}, 1_000);
    };
    await fight(20 * minute);
    expect(world.calls.sets).toHaveLength(3);
    const texts = () => world.told.map(({ text }) => text);
    expect(texts()).toEqual([
      expect.stringContaining("Tocsin puts it back now."),
      expect.stringContaining("three times within a day, and leaves it now. Put it back on the page Account"),
    ]);
    await fight(3 * hour);
    expect(texts()).toHaveLength(2);
    await world.clock.advance(day);
    expect(world.account.webhookUrl).toBe(ourUrl);
    expect(world.lines().at(-1)).toContain("sends its alerts here again");
  });
});
