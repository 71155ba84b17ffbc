import { describe, expect, it } from "vitest";
import {
  day,
  formerSecret,
  hour,
  minute,
  ourUrl,
  publicUrl,
  refusal,
  secret,
  startAccountWatch,
} from "./account-fixture.ts";

const elsewhere = "https://other.example/in/7e0d4e7b-secret";

describe("the watch over the account of a source", () => {
  it("tells, remembers and advises in its own name", async () => {
    const world = await startAccountWatch({ source: "desk" });
    await world.clock.advance(hour);
    world.account.webhookUrl = elsewhere;
    await world.clock.advance(5 * minute);
    const told = "critical firing: desk: The account sends its alerts to https://other.example/… and no longer here";
    expect(await world.notices()).toEqual([told]);
    const [notice] = await world.store.listAlerts({ limit: 1 });
    expect(notice?.facts?.alertKey).toBe("tocsin:account:desk:webhook");
    expect(await world.store.loadWatchState("account")).toBeUndefined();
    const { name, troubles } = world.watch.view();
    expect(name).toBe("account:desk");
    expect(troubles).toEqual([expect.stringContaining("Put it back with: tocsin setup --source desk --put-back")]);
    await world.restart();
    await world.clock.advance(hour);
    expect(await world.notices()).toEqual([told]);
  });
});

describe("the watch over the account", () => {
  it("tells of another program's PUT once, to each who gets notices, within one interval, and when it is well", async () => {
    const world = await startAccountWatch();
    await world.clock.advance(hour);
    expect(await world.notices()).toEqual([]);
    expect(world.watch.view()).toMatchObject({ verdict: "well", troubles: [] });
    world.account.webhookUrl = elsewhere;
    await world.clock.advance(5 * minute);
    const told = "critical firing: The account sends its alerts to https://other.example/… and no longer here";
    expect(await world.notices()).toEqual([told]);
    await world.clock.advance(3 * day);
    expect(await world.notices()).toEqual([told]);
    const { verdict, troubles } = world.watch.view();
    expect(verdict).toBe("trouble");
    expect(troubles).toEqual([expect.stringContaining("Put it back with: tocsin setup --put-back")]);
    expect(world.watch.known().canPutBack).toBe(true);
    world.account.webhookUrl = ourUrl;
    await world.clock.advance(5 * minute);
    expect(await world.notices()).toEqual([told, "info resolved: The account sends its alerts here again"]);
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
    expect(await world.notices()).toHaveLength(1);
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

  it("repeats nothing after a restart, and tells then what it had not told", async () => {
    const world = await startAccountWatch();
    world.account.webhookUrl = null;
    await world.clock.advance(5 * minute);
    for (let round = 0; round < 4; round += 1) {
      await world.restart();
      await world.clock.advance(hour);
    }
    const off = "critical firing: The account's webhook was switched off";
    expect(await world.notices()).toEqual([off]);
    world.account.webhookUrl = ourUrl;
    await world.restart();
    await world.clock.advance(5 * minute);
    expect(await world.notices()).toEqual([off, "info resolved: The account sends its alerts here again"]);
  });

  it("tells within two hours of what has come to stay, however often it has come and gone before", async () => {
    const world = await startAccountWatch();
    for (let round = 0; round < 4; round += 1) {
      world.account.webhookUrl = ourUrl;
      await world.clock.advance(10 * minute);
      world.account.webhookUrl = elsewhere;
      await world.clock.advance(10 * minute);
    }
    const told = "critical firing: The account sends its alerts to https://other.example/… and no longer here";
    expect((await world.notices()).filter((notice) => notice === told)).toHaveLength(3);
    expect((await world.notices()).at(-1)).toContain("sends its alerts here again");
    await world.clock.advance(2 * hour);
    expect((await world.notices()).at(-1)).toBe(told);
    await world.clock.advance(3 * day);
    expect((await world.notices()).filter((notice) => notice === told)).toHaveLength(4);
  });

  it("tells once of another program's PUT although it is restarted between the look that finds it and the next", async () => {
    const world = await startAccountWatch();
    world.account.webhookUrl = elsewhere;
    for (let kills = 0; kills < 3; kills += 1) {
      while (world.watch.known().answer?.webhook !== "elsewhere") await world.clock.advance(1_000);
      await world.restart();
    }
    await world.clock.advance(10_000);
    expect(await world.notices()).toHaveLength(1);
    await world.restart();
    await world.clock.advance(hour);
    expect(await world.notices()).toHaveLength(1);
  });

  it("tells of each other address anew, but of no more than three in a day", async () => {
    const world = await startAccountWatch();
    for (let round = 0; round < 20; round += 1) {
      world.account.webhookUrl = `https://other.example/${round}`;
      await world.clock.advance(10 * minute);
    }
    expect(await world.notices()).toHaveLength(3);
    await world.clock.advance(day);
    expect(await world.notices()).toHaveLength(4);
  });

  it("stays in trouble on the page while the service says nothing of it", async () => {
    const world = await startAccountWatch();
    world.account.webhookUrl = elsewhere;
    await world.clock.advance(5 * minute);
    world.fails = () => refusal("upstream_failed");
    await world.clock.advance(20 * minute);
    expect(world.watch.view()).toMatchObject({ verdict: "trouble", summary: expect.stringContaining("other.example") });
    expect(world.watch.known().canPutBack).toBe(true);
    world.fails = () => undefined;
    world.account.webhookUrl = ourUrl;
    await world.clock.advance(5 * minute);
    expect(world.watch.view()).toMatchObject({ verdict: "well" });
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
    world.fails = () => undefined;
    await world.clock.advance(hour);
    world.account.webhookUrl = `${publicUrl}/hooks/some-unknown-secret`;
    await world.clock.advance(hour);
    world.fails = () => refusal("upstream_failed", `answered 500: cannot reach ${ourUrl} or ${elsewhere}`);
    await world.clock.advance(hour);
    const alerts = await world.store.listAlerts({ limit: 10 });
    const state = await world.store.loadWatchState("account");
    const all = JSON.stringify([alerts, state, world.watch.view(), world.watch.known()]);
    expect(alerts).toHaveLength(3);
    expect(all).toContain("with a secret that this relay does not take");
    expect(all).not.toMatch(new RegExp(`${secret}|7e0d4e7b|some-unknown-secret`));
  });

  it("takes an older secret of the hook for its own as long as the door does", async () => {
    const world = await startAccountWatch();
    world.account.webhookUrl = `${publicUrl}/hooks/${formerSecret}`;
    await world.clock.advance(day);
    expect(await world.notices()).toEqual([]);
  });

  it("tells of the channel and of another account, and compares nothing else with that", async () => {
    const world = await startAccountWatch();
    world.account.messengerChannelId = "-100555";
    await world.clock.advance(5 * minute);
    Object.assign(world.account, { id: "acc_2", webhookUrl: elsewhere });
    await world.clock.advance(5 * minute);
    Object.assign(world.account, { id: "acc_1", webhookUrl: ourUrl, messengerChannelId: null });
    await world.clock.advance(5 * minute);
    expect(await world.notices()).toEqual([
      "warning firing: The account's messenger channel was changed from none to -100555",
      "critical firing: The API key belongs to another account than the one that was set up",
      "info resolved: The API key belongs to the account that was set up",
      "info resolved: The account has no messenger channel again, as setup left it",
    ]);
  });

  it("compares nothing before setup has run, and holds the account to what it finds to be its own", async () => {
    const world = await startAccountWatch({ registered: null, webhookUrl: elsewhere });
    await world.clock.advance(day);
    expect(await world.notices()).toEqual([]);
    expect(world.watch.view()).toMatchObject({
      verdict: "idle",
      summary: expect.stringContaining("not registered here yet"),
    });
    world.account.webhookUrl = ourUrl;
    await world.clock.advance(5 * minute);
    expect(world.registered.value).toMatchObject({ accountId: "acc_1", publicUrl, messengerChannelId: null });
    world.account.webhookUrl = elsewhere;
    await world.clock.advance(5 * minute);
    expect(await world.notices()).toHaveLength(1);
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
    world.account.webhookUrl = elsewhere;
    await world.clock.advance(day);
    expect(await world.notices()).toEqual([]);
  });
});

describe("a service that fails", () => {
  it("is told of after half an hour without an answer, and when it answers again", async () => {
    const world = await startAccountWatch();
    world.fails = () => refusal("upstream_unreachable", "alerting: GET /account: connection refused (ECONNREFUSED)");
    await world.clock.advance(29 * minute);
    expect(await world.notices()).toEqual([]);
    await world.clock.advance(11 * minute);
    const gone = "warning firing: The alerting service does not answer";
    expect(await world.notices()).toEqual([gone]);
    await world.clock.advance(5 * day);
    world.fails = () => undefined;
    await world.clock.advance(5 * minute);
    expect(await world.notices()).toEqual([gone, "info resolved: The alerting service answers again"]);
  });

  it("is told of when the key is refused for minutes, and not for a moment of it", async () => {
    const world = await startAccountWatch();
    world.fails = () => refusal("upstream_unauthorized");
    await world.clock.advance(7 * minute);
    world.fails = () => undefined;
    await world.clock.advance(hour);
    expect(await world.notices()).toEqual([]);
    world.fails = () => refusal("upstream_forbidden");
    await world.clock.advance(15 * minute);
    const refused = "critical firing: The alerting service refuses the API key";
    expect(await world.notices()).toEqual([refused]);
    world.fails = () => undefined;
    await world.clock.advance(5 * minute);
    expect(await world.notices()).toEqual([refused, "info resolved: The alerting service takes the API key"]);
  });

  it("is no alarm where it answers something else, and where it says nothing", async () => {
    const world = await startAccountWatch();
    world.fails = () => refusal("upstream_bad_answer", "alerting: GET /account answered an HTML page");
    await world.clock.advance(2 * day);
    expect(world.watch.view()).toMatchObject({
      verdict: "unknown",
      summary: "cannot tell: alerting: GET /account answered an HTML page",
    });
    world.fails = () => undefined;
    world.account = {};
    await world.clock.advance(2 * day);
    expect(world.watch.view()).toMatchObject({ verdict: "unknown" });
    world.account = { id: "acc_1" };
    await world.clock.advance(2 * day);
    expect(world.watch.view().summary).toBe(
      "cannot tell: the service's answer does not say where its alerts go and which messenger channel it has",
    );
    expect(await world.notices()).toEqual([]);
  });

  it("makes no noise in 30 days of 5 % errors, time-outs and nonsense, and ten restarts", async () => {
    const world = await startAccountWatch();
    const failures = [
      refusal("upstream_unreachable"),
      refusal("upstream_failed"),
      refusal("upstream_unauthorized"),
      refusal("upstream_bad_answer"),
      refusal("upstream_rate_limited"),
      refusal("upstream_not_found"),
    ];
    let draws = 1;
    let failed = 0;
    world.fails = () => {
      draws = (draws * 48271) % 2147483647;
      const isFailing = draws / 2147483647 < 0.05;
      failed += isFailing ? 1 : 0;
      return isFailing ? failures[draws % failures.length] : undefined;
    };
    for (let round = 0; round < 10; round += 1) {
      await world.clock.advance(3 * day);
      await world.restart();
    }
    expect(world.calls.looks).toBeGreaterThan(8640);
    expect(failed).toBeGreaterThan(350);
    expect(await world.notices()).toEqual([]);
  });
});

describe("the end of the key", () => {
  it("is told of four times, whatever the restarts, and once that there is a new one", async () => {
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
    expect(await world.notices()).toEqual(told);
    world.account.keyExpiresAt = world.clock.now() + 90 * day;
    await world.clock.advance(10 * minute);
    expect(await world.notices()).toEqual([
      ...told,
      "info resolved: The API key of the alerting service is good for longer",
    ]);
  });

  it("is told once where a relay starts within it, also by a clock that is an hour off and set right", async () => {
    const world = await startAccountWatch();
    world.account.keyExpiresAt = world.clock.now() + 7 * day + 1000;
    await world.clock.advance(hour);
    world.account.keyExpiresAt += hour;
    await world.clock.advance(30 * minute);
    expect(await world.notices()).toEqual(["warning firing: The API key of the alerting service expires in 7 days"]);
  });

  it.each([0, -1, Date.UTC(2001, 4, 1), undefined])(
    "is unknown where the key is taken and the date is %s",
    async (at) => {
      const world = await startAccountWatch({ keyExpiresAt: at });
      await world.clock.advance(2 * day);
      expect(await world.notices()).toEqual([]);
      expect(world.watch.view().verdict).toBe("well");
      // Metrics have no end to be alarmed by either.
      expect(world.watch.known().answer?.keyExpiresAt).toBeUndefined();
    },
  );
});

describe("putting back", () => {
  it("is done by one call, and only what differs", async () => {
    const world = await startAccountWatch();
    expect(await world.watch.putBack()).toBe("unchanged");
    Object.assign(world.account, { webhookUrl: elsewhere });
    await world.clock.advance(5 * minute);
    expect(await world.watch.putBack()).toBe("put-back");
    expect(world.calls.sets).toEqual([{ webhookUrl: ourUrl }]);
    await world.clock.advance(20_000);
    expect(await world.notices()).toHaveLength(2);
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
    expect(world.calls.sets).toEqual([]);
  });

  it("happens by itself only where that is configured, three times a day at most, over restarts and failures", async () => {
    const plain = await startAccountWatch();
    plain.account.webhookUrl = elsewhere;
    await plain.clock.advance(day);
    expect(plain.calls.sets).toEqual([]);
    const world = await startAccountWatch({ putBack: true });
    for (let round = 0; round < 12; round += 1) {
      world.account.webhookUrl = `https://other.example/${round}`;
      await world.clock.advance(15 * minute);
      if (round === 1) world.fails = (call) => (call === "set" ? refusal("upstream_failed") : undefined);
      if (round % 2 === 1) await world.restart();
    }
    expect(world.calls.sets).toHaveLength(3);
    world.fails = () => undefined;
    await world.clock.advance(day);
    expect(world.calls.sets).toHaveLength(4);
    expect(world.account.webhookUrl).toBe(ourUrl);
  });

  it("is given up three times a day, and people who were told that it is put back are told that, once", async () => {
    const world = await startAccountWatch({ putBack: true });
    // Another relay wants the account as well.
    const fight = async (ms: number) => {
      for (let gone = 0; gone < ms; gone += 1_000) {
        if (world.account.webhookUrl === ourUrl) world.account.webhookUrl = elsewhere;
        await world.clock.advance(1_000);
      }
    };
    await fight(20 * minute);
    expect(world.calls.sets).toHaveLength(3);
    const texts = async () => {
      const alerts = await world.store.listAlerts({ limit: 200 });
      return alerts.toReversed().map(({ facts }) => facts?.text ?? "");
    };
    expect(await texts()).toEqual([
      expect.stringContaining("Tocsin puts it back now."),
      expect.stringContaining("three times within a day, and leaves it now. Put it back with: tocsin setup --put-back"),
    ]);
    await fight(3 * hour);
    expect(await texts()).toHaveLength(2);
    await world.clock.advance(day);
    expect(world.account.webhookUrl).toBe(ourUrl);
    expect((await world.notices()).at(-1)).toContain("sends its alerts here again");
  });

  it("never touches another account", async () => {
    const world = await startAccountWatch({ putBack: true });
    Object.assign(world.account, { id: "acc_2", webhookUrl: elsewhere });
    await world.clock.advance(day);
    expect(world.calls.sets).toEqual([]);
  });
});
