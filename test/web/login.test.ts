import { describe, expect, test, vi } from "vitest";
import { loginLink } from "../../src/contract/login-link.ts";
import { AppError } from "../../src/core/errors.ts";
import { silentLog } from "../../src/core/log.ts";
import { Secret } from "../../src/core/secret.ts";
import { createTokenCheck } from "../../src/web/access/token-check.ts";
import { expectWords } from "../support/expect-words.ts";
import { createTestClock, hour, minute } from "../support/test-clock.ts";
import { adminToken, createWebFixture, type WebFixture } from "../support/web-fixture.ts";

async function post(
  { web }: WebFixture,
  path: string,
  fields: Record<string, string>,
  options: { address?: string; headers?: Record<string, string>; origin?: string } = {},
) {
  const origin = options.origin ?? "http://tocsin.test";
  return web.fetch(
    new Request(`${origin}${path}`, {
      method: "POST",
      headers: { origin, ...options.headers },
      body: new URLSearchParams(fields),
    }),
    { incoming: { rawHeaders: [], socket: { remoteAddress: options.address ?? "192.0.2.1" } } },
  );
}

/** The status of a page for who has this cookie. */
const statusFor = async ({ ask }: WebFixture, cookie: string) => (await ask("/", { headers: { cookie } })).status;

const codeOf = (link: string): string => new URL(link).searchParams.get("code") ?? "";

describe("the admin token", () => {
  test("logs in, and the cookie is for this host and no script", async () => {
    const fixture = await createWebFixture();
    const answer = await post(fixture, "/login", { token: adminToken, next: "/?q=usdc" });
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/?q=usdc"]);
    const cookie = answer.headers.get("set-cookie") ?? "";
    expectWords(cookie, [/^tocsin_session=/, "Max-Age=43200", "HttpOnly", "SameSite=Lax"], { not: "Secure" });
    expect(cookie).not.toContain(adminToken);
  });

  test("is sent by https alone where the page is reached by https", async () => {
    const fixture = await createWebFixture({ publicUrl: "https://tocsin.test" });
    const answer = await post(fixture, "/login", { token: adminToken }, { origin: "https://tocsin.test" });
    const cookie = answer.headers.get("set-cookie") ?? "";
    expectWords(cookie, [/^__Host-tocsin_session=/, "Secure", "Path=/"], { not: "Domain" });
  });

  test("that is wrong is refused, and gives no cookie", async () => {
    const answer = await post(await createWebFixture(), "/login", { token: `${adminToken}x` });
    expect(answer.status).toBe(403);
    expect(answer.headers.get("set-cookie")).toBeNull();
    expect(await answer.text()).toContain("This is not the admin token.");
  });

  test("in a form that is none is refused without a word to the log", async () => {
    const logged: unknown[] = [];
    const { ask } = await createWebFixture({ log: { ...silentLog, error: (...event) => void logged.push(event) } });
    const headers = { "content-type": "multipart/form-data" };
    expect((await ask("/login", { method: "POST", headers, body: "x" })).status).toBe(400);
    expect(logged).toEqual([]);
  });

  test("guessed from one address gets 429 there for a while, and a wrong one from elsewhere does not", async () => {
    const fixture = await createWebFixture();
    const guess = (address?: string) => post(fixture, "/login", { token: "wrong" }, { address });
    for (let round = 0; round < 10; round += 1) expect((await guess()).status).toBe(403);
    const limited = await guess();
    expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "6"]);
    expect(limited.headers.get("set-cookie")).toBeNull();
    expect(await limited.text()).toContain("The right one is taken at any time.");
    expect((await guess("192.0.2.2")).status).toBe(403);
    await fixture.clock.advance(6_000);
    expect((await guess()).status).toBe(403);
    expect((await guess()).status).toBe(429);
  });

  test("is taken whatever others have guessed, from the same address and from everywhere", async () => {
    const fixture = await createWebFixture();
    const right = () => post(fixture, "/login", { token: adminToken });
    for (let round = 0; round < 5; round += 1) {
      for (let wrong = 0; wrong < 12; wrong += 1) await post(fixture, "/login", { token: "wrong" });
      expect((await right()).status).toBe(303);
      await fixture.clock.advance(6_000);
    }
    const code = codeOf(loginLink("http://tocsin.test", new Secret(adminToken), fixture.clock.now()));
    expect((await post(fixture, "/login", { code })).status).toBe(303);
    const statuses: number[] = [];
    for (let round = 0; round < 300; round += 1) {
      const address = `198.51.${round % 100}.${round}`;
      statuses.push((await post(fixture, "/login", { token: "wrong" }, { address })).status);
    }
    expect(statuses.filter((status) => status === 403).length).toBeLessThanOrEqual(100);
    expect(statuses.at(-1)).toBe(429);
    expect((await right()).status).toBe(303);
  });

  test("guessed by one client of a trusted proxy leaves its other clients alone", async () => {
    const fixture = await createWebFixture({ trustedProxies: ["127.0.0.0/8"] });
    const guess = (client: string) =>
      post(fixture, "/login", { token: "wrong" }, { address: "127.0.0.1", headers: { "x-forwarded-for": client } });
    for (let round = 0; round < 11; round += 1) await guess("198.51.100.1");
    expect((await guess("198.51.100.1")).status).toBe(429);
    expect((await guess("198.51.100.2")).status).toBe(403);
  });

  test("guessed is logged with the network that it came from, as often as it is not limited", async () => {
    const logged: unknown[] = [];
    const fixture = await createWebFixture({ log: { ...silentLog, warn: (...event) => void logged.push(event) } });
    for (let round = 0; round < 30; round += 1)
      await post(fixture, "/login", { token: "wrong" }, { address: `2001:db8:1:2::${round + 1}` });
    expect(logged).toHaveLength(10);
    expect(logged[0]).toEqual(["login.refused", { address: "2001:db8:1:2::/64" }]);
  });

  test("guessed from more networks than are remembered forgets the one that was silent longest", async () => {
    const perNetwork = { burst: 2, intervalMs: 6_000 };
    const deps = { adminToken: new Secret(adminToken), clock: createTestClock(0) };
    const check = createTokenCheck(deps, { perNetwork, maxNetworks: 2 });
    const guess = async (network: string) => (await check.judge("wrong", () => network)).kind;
    for (const network of ["a", "b", "a", "c"]) expect(await guess(network)).toBe("wrong");
    expect(await guess("a")).toBe("limited");
    expect([await guess("b"), await guess("b"), await guess("b")]).toEqual(["wrong", "wrong", "limited"]);
    expect(await guess("c")).toBe("wrong");
    expect(await guess("a")).toBe("wrong");
  });

  test("guessed while the other relays cannot be asked is limited by this relay alone", async () => {
    const clock = createTestClock();
    let asked = 0;
    const answers = [
      () => Promise.reject(new AppError("store_unavailable", "away")),
      () => new Promise<never>(() => {}),
    ];
    const store = { useAllowances: () => (answers[asked++ % 2] as (typeof answers)[0])() };
    const check = createTokenCheck(
      { adminToken: new Secret(adminToken), store, clock },
      { perNetwork: { burst: 4, intervalMs: hour } },
    );
    async function guess() {
      const judging = check.judge("wrong", () => "192.0.2.1");
      await clock.advance(1_000);
      return (await judging).kind;
    }
    expect([await guess(), await guess(), await guess(), await guess()]).toEqual(Array(4).fill("wrong"));
    for (let flood = 0; flood < 20; flood += 1) expect(await guess()).toBe("limited");
    expect(asked).toBe(4);
  });

  test("as a bearer: many wrong ones get 429, and the right one from the same address passes", async () => {
    const logged: unknown[] = [];
    const fixture = await createWebFixture({ log: { ...silentLog, warn: (...event) => void logged.push(event) } });
    const present = (token: string) => fixture.ask("/api/alerts", { headers: { authorization: `Bearer ${token}` } });
    for (let round = 0; round < 10; round += 1) expect((await present("wrong")).status).toBe(401);
    for (let round = 0; round < 5; round += 1) {
      const refused = await present("wrong");
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "6"]);
    }
    // Not what was given, which may be nearly right.
    expect(logged).toEqual(Array(10).fill(["token.refused", { address: expect.any(String) }]));
    expect((await present(adminToken)).status).toBe(200);
    expect((await post(fixture, "/login", { token: adminToken })).status).toBe(303);
  });
});

describe("a login link", () => {
  const secret = new Secret(adminToken);

  test("changes nothing when it is opened or previewed, and logs in once by its button", async () => {
    const fixture = await createWebFixture();
    const link = loginLink("http://tocsin.test/", secret, fixture.clock.now());
    expect(link).not.toContain(adminToken);
    for (const method of ["GET", "HEAD", "GET"]) {
      const shown = await fixture.web.fetch(new Request(link, { method }));
      expect(shown.status).toBe(200);
      expect(shown.headers.get("set-cookie")).toBeNull();
    }
    const page = await (await fixture.web.fetch(new Request(link))).text();
    const code = /name="code" value="([^"]+)"/.exec(page)?.[1] ?? "";
    const first = await post(fixture, "/login", { code });
    expect(first.status).toBe(303);
    expect(first.headers.get("set-cookie")).toContain("tocsin_session=");
    const second = await post(fixture, "/login", { code });
    expect(second.status).toBe(403);
    expect(second.headers.get("set-cookie")).toBeNull();
    expect((await fixture.web.fetch(new Request(link))).status).toBe(403);
  });

  test("runs out after a quarter of an hour", async () => {
    const fixture = await createWebFixture();
    const code = codeOf(loginLink("http://tocsin.test", secret, fixture.clock.now()));
    await fixture.clock.advance(15 * minute);
    expect((await post(fixture, "/login", { code })).status).toBe(403);
  });

  test("of another token, of a changed expiry, or of nothing is refused", async () => {
    const fixture = await createWebFixture();
    const now = fixture.clock.now();
    const [, nonce, signature] = codeOf(loginLink("http://tocsin.test", secret, now)).split(".");
    const codes = [
      codeOf(loginLink("http://tocsin.test", new Secret("another-token"), now)),
      `${(now + 1e12).toString(36)}.${nonce}.${signature}`,
      "",
      "..",
      "zzzzzzzz.x.y",
    ];
    for (const code of codes) expect((await post(fixture, "/login", { code })).status).toBe(403);
  });

  test("that was used stays used over a restart, and the database holds no code", async () => {
    const fixture = await createWebFixture();
    const link = loginLink("http://tocsin.test", secret, fixture.clock.now());
    const unused = loginLink("http://tocsin.test", secret, fixture.clock.now());
    expect((await post(fixture, "/login", { code: codeOf(link) })).status).toBe(303);
    const restarted = await createWebFixture({ clock: fixture.clock, store: fixture.store });
    expect((await restarted.web.fetch(new Request(link))).status).toBe(403);
    expect((await post(restarted, "/login", { code: codeOf(link) })).status).toBe(403);
    expect((await post(restarted, "/login", { code: codeOf(unused) })).status).toBe(303);
    const keys = await fixture.store.listKeys("used-login-code", fixture.clock.now());
    expect(keys).toHaveLength(2);
    for (const part of codeOf(link).split(".")) expect(JSON.stringify(keys)).not.toContain(part);
  });

  test("is refused while its use cannot be recorded, and the token still logs in", async () => {
    const fixture = await createWebFixture();
    const full = new AppError("store_unavailable", "The disk that holds the database is full.", {
      retryAfterMs: 30_000,
    });
    const putKeyIfAbsent = vi.fn(fixture.store.putKeyIfAbsent).mockRejectedValueOnce(full);
    const broken = await createWebFixture({ clock: fixture.clock, store: { ...fixture.store, putKeyIfAbsent } });
    const code = codeOf(loginLink("http://tocsin.test", secret, fixture.clock.now()));
    const refused = await post(broken, "/login", { code });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "30"]);
    expect(refused.headers.get("set-cookie")).toBeNull();
    expectWords(await refused.text(), ["its use cannot be recorded", "Enter the admin token instead"]);
    expect((await post(broken, "/login", { token: adminToken })).status).toBe(303);
    expect((await post(broken, "/login", { code })).status).toBe(303);
  });

  test("two links of one instant are two logins", () => {
    expect(loginLink("http://x", secret, 5)).not.toBe(loginLink("http://x", secret, 5));
  });
});

test.each([
  ["/alerts/1", "/alerts/1"],
  ["/?q=a+b&severity=critical&cursor=7", "/?q=a+b&severity=critical&cursor=7"],
  ["/?token=canary&q=usdc&access_token=canary", "/?q=usdc"],
  ["/alerts/1?token=canary#token=canary", "/alerts/1"],
  ["/mutes?TOKEN=canary", "/mutes"],
  ["//evil.example/", "/"],
  ["/\\evil.example", "/"],
  ["/\t/evil.example", "/"],
  ["https://evil.example/", "/"],
  ["javascript:alert(1)", "/"],
  ["/..//evil.example", "/"],
  ["/login?next=/", "/"],
  ["/logout", "/"],
  ["", "/"],
])("after the login %j leads to %s", async (next, location) => {
  const answer = await post(await createWebFixture(), "/login", { token: adminToken, next });
  expect(answer.headers.get("location")).toBe(location);
});

describe("a session", () => {
  test("ends after twelve hours without a request", async () => {
    const { get, clock } = await createWebFixture();
    await get("/");
    await clock.advance(12 * hour - 1);
    expect((await get("/")).status).toBe(200);
    await clock.advance(1);
    expect((await get("/")).status).toBe(303);
  });

  test("lives on while it is used, for a week and no longer", async () => {
    const { clock, logIn, ask } = await createWebFixture();
    let { cookie } = await logIn();
    for (let passed = 11; passed < 7 * 24; passed += 11) {
      await clock.advance(11 * hour);
      const answer = await ask("/", { headers: { cookie } });
      expect(answer.status).toBe(200);
      cookie = answer.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
    }
    await clock.advance(3 * hour);
    expect((await ask("/", { headers: { cookie } })).status).toBe(303);
  });

  test("survives a restart, and ends with the admin token that it came from", async () => {
    const { logIn, clock } = await createWebFixture();
    const { cookie } = await logIn();
    const restarted = await createWebFixture({ clock });
    const rotated = await createWebFixture({ clock, adminToken: new Secret("another-admin-token-0001") });
    expect([await statusFor(restarted, cookie), await statusFor(rotated, cookie)]).toEqual([200, 303]);
  });

  test("that was logged out stays over after a restart, and others do not; the database holds none", async () => {
    const fixture = await createWebFixture();
    const ended = await fixture.logIn();
    const other = await fixture.logIn();
    expect((await ended.post("/logout")).headers.get("set-cookie")).toContain("Max-Age=0");
    expect((await ended.get("/")).status).toBe(303);
    const restarted = await createWebFixture({ clock: fixture.clock, store: fixture.store });
    expect(await statusFor(restarted, ended.cookie)).toBe(303);
    expect(await statusFor(restarted, other.cookie)).toBe(200);
    const keys = JSON.stringify(await fixture.store.listKeys("ended-session", fixture.clock.now()));
    const [id = ""] = ended.cookie.split("=", 2)[1]?.split(".") ?? [];
    expect(id).not.toBe("");
    expect(keys).not.toContain(id);
  });

  test("stays over when others are ended after it, and when it was older than it may be idle", async () => {
    const fixture = await createWebFixture();
    const { logIn, clock, store } = fixture;
    const first = await logIn();
    await clock.advance(11 * hour);
    const renewed = (await first.get("/")).headers.get("set-cookie")?.split(";", 1)[0] ?? "";
    await clock.advance(2 * hour);
    const second = await logIn();
    const page = await (await first.get("/mutes", { headers: { cookie: renewed } })).text();
    const formToken = /name="form_token" value="([^"]+)"/.exec(page)?.[1] ?? "";
    const answer = await post(fixture, "/logout", { form_token: formToken }, { headers: { cookie: renewed } });
    expect(answer.headers.get("location")).toBe("/login");
    await second.post("/logout");
    const restarted = await createWebFixture({ clock, store });
    for (const relay of [fixture, restarted])
      for (const cookie of [renewed, second.cookie]) expect(await statusFor(relay, cookie)).toBe(303);
  });

  test("is over even if that cannot be recorded, and the page says what that means", async () => {
    const { store } = await createWebFixture();
    const full = new AppError("store_unavailable", "The disk that holds the database is full.");
    const broken = await createWebFixture({ store: { ...store, putKeyIfAbsent: () => Promise.reject(full) } });
    const browser = await broken.logIn();
    const answer = await browser.post("/logout");
    expect(answer.status).toBe(503);
    expect(answer.headers.get("set-cookie")).toContain("Max-Age=0");
    expect(await answer.text()).toContain("set another ADMIN_TOKEN");
    expect((await browser.get("/")).status).toBe(303);
  });

  test.each([
    ["another id", (parts: string[]) => ["x", ...parts.slice(1)]],
    ["a later start", (parts: string[]) => [parts[0], "zzzzzzzz", ...parts.slice(2)]],
    ["another signature", (parts: string[]) => [...parts.slice(0, 3), "AAAA"]],
    ["nothing signed", (parts: string[]) => parts.slice(0, 3)],
  ])("with %s is none", async (_what, change) => {
    const fixture = await createWebFixture();
    const [name, value = ""] = (await fixture.logIn()).cookie.split("=", 2);
    const cookie = `${name}=${change(value.split(".")).join(".")}`;
    expect(await statusFor(fixture, cookie)).toBe(303);
  });

  test("sends a browser back to the page that a form was on", async () => {
    const fixture = await createWebFixture();
    const answer = await post(fixture, "/alerts/0190/resend", {});
    expect(answer.headers.get("location")).toBe("/login?next=%2Falerts%2F0190");
    expect((await post(fixture, "/logout", {})).headers.get("location")).toBe("/login?next=%2F");
  });

  test.each(["/resend?mute=019a&over=true", "/refused?source=lab", "/gaps?source=lab", "/?destination=ops"])(
    "leads behind the login to %s, as a message links to it",
    async (address) => {
      const { ask } = await createWebFixture();
      expect((await ask(address)).headers.get("location")).toBe(`/login?next=${encodeURIComponent(address)}`);
    },
  );

  test("that is missing does not repeat a token that stands in the address", async () => {
    const { ask } = await createWebFixture();
    for (const address of [`/?token=${adminToken}&q=usdc`, `/?q=usdc&key=${adminToken}`]) {
      expect((await ask(address)).headers.get("location")).toBe("/login?next=%2F%3Fq%3Dusdc");
    }
    const ofKey = await ask("/?key=rule%3Atvl");
    expect(ofKey.headers.get("location")).toBe(`/login?next=${encodeURIComponent("/?key=rule%3Atvl")}`);
    const next = encodeURIComponent(`/?token=${adminToken}`);
    for (const query of [`next=${next}`, `token=${adminToken}`]) {
      expect(await (await ask(`/login?${query}`)).text()).not.toContain(adminToken);
    }
  });
});
