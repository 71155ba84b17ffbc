import { describe, expect, test } from "vitest";
import { describeConfig } from "../../src/config/describe-config.ts";
import { secretTextsOf } from "../../src/config/secret-texts.ts";
import { Secret } from "../../src/core/secret.ts";
import { accountOf } from "../../src/delivery/plan/accounts.ts";
import { botEnv, botToken, load, mailEnv, problemsOf } from "./load.ts";

const strong = "k3Jd-92mXq_0aLzPw7TtYbRs";

test("an empty environment gives the documented defaults", () => {
  const config = load(undefined);
  expect(config.server).toEqual({
    ...{ port: 8080, host: "127.0.0.1", isPublic: false, isBehindFly: false, drainMs: 5_000 },
    trustedProxies: ["127.0.0.0/8", "::1/128"],
  });
  expect(config).toMatchObject({ dataDir: "/srv/tocsin/data", logLevel: "info" });
  expect(config.intake).toEqual({ maxBodyBytes: 1_048_576, idempotencyPaths: [] });
  expect(config.retention).toEqual({ maxAgeMs: 90 * 86_400_000 });
  expect(config.configFile).toBeUndefined();
  expect(config.rules).toEqual({ destinations: [], routes: [], mutes: [] });
  expect(config.warnings.map((warning) => warning.message)).toEqual([
    "there is no destination: alerts are kept and shown on the page, and sent to nobody",
  ]);
});

test("with variables only, every alert goes to every chat and every address", () => {
  const config = load(undefined, {
    ...botEnv,
    ...mailEnv,
    TELEGRAM_CHAT_IDS: "-1001, -1002 ,-1001",
    EMAIL_TO: "ops@example.com,desk@example.com",
  });
  expect(config.rules.destinations).toMatchObject([
    { name: "telegram:-1001", type: "telegram", chatId: "-1001", definedAt: "TELEGRAM_CHAT_IDS" },
    { name: "telegram:-1002", type: "telegram", chatId: "-1002", pace: { perSecond: 1, perMinute: 18 } },
    {
      name: "email",
      type: "email",
      to: ["ops@example.com", "desk@example.com"],
      from: "Tocsin <tocsin@example.com>",
      account: {
        ...{ id: "relay@example.com@smtp.example.com:465", host: "smtp.example.com", port: 465, secure: true },
        ...{ user: "relay@example.com", allowInsecureAuth: false, rejectUnauthorized: true },
      },
    },
  ]);
  expect(config.rules.routes).toMatchObject([
    { name: "everything", matchers: [], to: ["telegram:-1001", "telegram:-1002", "email"] },
  ]);
  expect(config.warnings).toMatchObject([
    { where: "TELEGRAM_CHAT_IDS", message: '"-1001" is listed twice; it gets each alert once' },
  ]);
  const [chat] = config.rules.destinations;
  expect(chat?.type === "telegram" && chat.bot.token.reveal()).toBe(botToken);
  expect(JSON.stringify(config)).not.toContain("canary");
});

test.each([
  ["1001234567890", "a group or channel id starts with '-'", "write -1001234567890; an id without '-' is a person's"],
  ["4711", "a group or channel id starts with '-'", "write -1004711 for a supergroup or channel, or -4711"],
  ["@treasury", "names can be given away to others, so the id is needed", "write the id, which starts with '-'"],
  ["https://t.me/treasury", "so the id is needed", "write the id"],
  ["-12x", "is not a chat id", "write '-' and digits"],
  ["-0", "is not a chat id", "write '-' and digits"],
  [botToken, "is a bot token, not a chat id", "the token belongs in TELEGRAM_BOT_TOKEN"],
])("refuses the chat id %s", (id, message, instead) => {
  const [problem, ...others] = problemsOf(undefined, { ...botEnv, TELEGRAM_CHAT_IDS: `-5,${id}` });
  expect(others).toEqual([]);
  expect(problem?.where).toBe("TELEGRAM_CHAT_IDS");
  expect(problem?.message).toContain(message);
  expect(problem?.instead).toContain(instead);
});

test.each(["ops", "ops@", "a b@example.com", "ops@example.com\r\nBcc: x@example.com", "Ops <ops@example.com>"])(
  "refuses the recipient %j",
  (address) => {
    expect(problemsOf(undefined, { ...mailEnv, EMAIL_TO: address })).toMatchObject([{ where: "EMAIL_TO" }]);
  },
);

test("names what is missing for chats and for mail", () => {
  const problems = problemsOf(undefined, { TELEGRAM_CHAT_IDS: "-5", EMAIL_TO: "a@example.com" });
  expect(problems.map((problem) => problem.message)).toEqual([
    "there is no bot to write to these chats",
    "there is no mail server to send by",
  ]);
  expect(problemsOf(undefined, { SMTP_URL: "smtp://user:pass@host", EMAIL_TO: "a@example.com" })).toMatchObject([
    { where: "EMAIL_FROM" },
  ]);
});

describe("SMTP_URL", () => {
  const readAccount = (url: string) => {
    const [destination] = load(undefined, { ...mailEnv, SMTP_URL: url, EMAIL_TO: "a@example.com" }).rules.destinations;
    return destination?.type === "email" ? destination.account : undefined;
  };

  test("has the ports of its kinds, decodes the password, and reads its options", () => {
    const plain = { port: 587, secure: false, id: "mail.example.com:587" };
    expect(readAccount("smtp://mail.example.com")).toMatchObject(plain);
    const account = readAccount("smtp://u:p%40%2F%23@h:2525?allowInsecureAuth=true&rejectUnauthorized=false");
    expect(account).toMatchObject({ port: 2525, user: "u", allowInsecureAuth: true, rejectUnauthorized: false });
    expect(account?.password?.reveal()).toBe("p@/#");
  });

  test("is another account with another password, which the account's name does not show", () => {
    const yaml = `destinations:
  one: { type: email, to: [a@example.com] }
  two: { type: email, to: [b@example.com], smtpUrl: "\${SECOND}" }
  three: { type: email, to: [c@example.com], smtpUrl: "\${THIRD}" }`;
    const others = { SECOND: "smtp://u:wrongPass@h", THIRD: "smtp://u:rightPass@h:587" };
    const { destinations } = load(yaml, {
      SMTP_URL: "smtp://u:rightPass@h",
      EMAIL_FROM: "u@x.example",
      ...others,
    }).rules;
    expect(destinations.map(accountOf)).toEqual([
      "account:email:u@h:587",
      "account:email:u@h:587 (password 2)",
      "account:email:u@h:587",
    ]);
  });

  test.each([
    "mail.example.com",
    "https://u:canaryPass@h",
    "smtp://u:canary/Pass@h",
    "smtp://u:canary#Pass@h",
    "smtp://u:canary%zzPass@h",
    "smtp://u:canaryPass@h:99999",
    "smtp://:canaryPass@h",
    "smtp://u:canaryPass@h?pool=true",
    "smtp://u:canaryPass@h?rejectUnauthorized=no",
  ])("refuses %s without repeating the password", (url) => {
    const problems = problemsOf(undefined, { ...mailEnv, SMTP_URL: url });
    expect(problems).toMatchObject([{ where: "SMTP_URL" }]);
    expect(JSON.stringify(problems)).not.toContain("canary");
  });
});

describe("where the outside reaches it", () => {
  const where = (env: Record<string, string>) => load(undefined, env).warnings.map((warning) => warning.where);

  test("warns on Fly of an address that its proxy cannot reach, and of a secret that would travel in the clear", () => {
    expect(where({ FLY_APP_NAME: "x" })).toContain("HOST");
    expect(where({ FLY_APP_NAME: "x", HOST: "0.0.0.0" })).not.toContain("HOST");
    expect(where({ PUBLIC_URL: "http://a.example.com" })).toContain("PUBLIC_URL");
    expect(where({ PUBLIC_URL: "http://localhost:8080" })).not.toContain("PUBLIC_URL");
  });

  test.each([
    ["https://a.example.com", { PUBLIC_URL: "https://a.example.com/" }],
    ["https://my-tocsin.fly.dev", { FLY_APP_NAME: "my-tocsin" }],
    ["https://a.example.com/x", { FLY_APP_NAME: "my-tocsin", PUBLIC_URL: "https://a.example.com/x" }],
  ])("is %s by %j", (publicUrl, env) => {
    expect(load(undefined, env as Record<string, string>).server.publicUrl).toBe(publicUrl);
  });

  test.each(["a.example.com", "ftp://a.example.com", "https://u:p@a.example.com", "https://a.example.com?x=1"])(
    "refuses %s",
    (url) => {
      expect(problemsOf(undefined, { PUBLIC_URL: url })).toMatchObject([{ where: "PUBLIC_URL" }]);
    },
  );
});

describe("tokens that could be guessed", () => {
  const guessable = ["short", "k3Jd-92mXq_0aLzPw7TtY", "a".repeat(40), "change-me-change-me-change-me"];

  test.each(guessable)("refuses the webhook secret %s where others can reach the server", (secret) => {
    const problems = problemsOf(undefined, { WEBHOOK_SECRET: secret, HOST: "0.0.0.0" });
    expect(problems).toMatchObject([{ where: "WEBHOOK_SECRET" }]);
    expect(JSON.stringify(problems)).not.toContain(secret);
  });

  test.each(guessable)("only warns of the webhook secret %s on this machine alone", (secret) => {
    const { warnings } = load(undefined, { WEBHOOK_SECRET: secret });
    expect(warnings[0]).toMatchObject({ where: "WEBHOOK_SECRET" });
    expect(JSON.stringify(warnings)).not.toContain(secret);
  });

  test.each([`${strong}/../x`, `${strong} x`])("refuses %s, which no address can hold, everywhere", (secret) => {
    expect(problemsOf(undefined, { WEBHOOK_SECRET: secret })).toMatchObject([{ where: "WEBHOOK_SECRET" }]);
  });

  test("takes 22 url-safe characters", () => {
    expect(load(undefined, { WEBHOOK_SECRET: "k3Jd-92mXq_0aLzPw7TtYb" }).webhookSecret?.reveal()).toHaveLength(22);
  });

  test.each<[string, Record<string, string>]>([
    ["every interface", { HOST: "0.0.0.0" }],
    ["every IPv6 interface", { HOST: "::" }],
    ["an address of the network", { HOST: "192.168.1.5" }],
    ["a proxy in front", { PUBLIC_URL: "https://a.example.com" }],
    ["Fly", { FLY_APP_NAME: "x" }],
  ])("refuses a weak admin token on %s", (_where, env) => {
    expect(problemsOf(undefined, { ...env, ADMIN_TOKEN: "admin" })).toMatchObject([{ where: "ADMIN_TOKEN" }]);
    expect(load(undefined, { ...env, ADMIN_TOKEN: strong }).adminToken?.reveal()).toBe(strong);
  });

  test.each(["127.0.0.1", "localhost", "::1"])("only warns of it on %s", (host) => {
    const { warnings } = load(undefined, { HOST: host, ADMIN_TOKEN: "admin" });
    expect(warnings.map((warning) => warning.where)).toContain("ADMIN_TOKEN");
  });

  test("refuses one secret for both", () => {
    const problems = problemsOf(undefined, { ADMIN_TOKEN: strong, WEBHOOK_SECRET: strong });
    expect(problems.map((problem) => problem.message)).toEqual([
      "is the same as WEBHOOK_SECRET, which every sender knows",
    ]);
  });
});

test("reports all mistakes of the environment at once", () => {
  const server = { PORT: "80a", HOST: "not a host", LOG_LEVEL: "inf", PUBLIC_URL: "nowhere" };
  const others = { TELEGRAM_BOT_TOKEN: "canary", TELEGRAM_API_ROOT: "x", ALERTING_URL: "x", PRICING_URL: "ftp://x" };
  const env = { ...server, ...others, TOCSIN_CONFIG: "gone.yaml" };
  const problems = problemsOf(undefined, env);
  expect(problems.map((problem) => problem.where).sort()).toEqual(Object.keys(env).sort());
  expect(problems.find((problem) => problem.where === "LOG_LEVEL")?.instead).toBe("did you mean info?");
  expect(JSON.stringify(problems)).not.toContain("canary");
});

test("an empty variable counts as one that is not set", () => {
  expect(load(undefined, { PORT: "", WEBHOOK_SECRET: " ", TOCSIN_CONFIG: "" }).server.port).toBe(8080);
});

test.each([
  [{ ...mailEnv }, "EMAIL_TO", "nobody gets mail"],
  [{ ...botEnv }, "TELEGRAM_CHAT_IDS", "no chat gets anything"],
  [{ ALERTING_URL: "https://api.example.com" }, "ALERTING_API_KEY", "setup cannot reach the account"],
  [{ ALERTING_API_KEY: "k" }, "ALERTING_URL", "setup cannot reach the account"],
])("warns where half of what belongs together is missing: %#", (env: Record<string, string>, where, effect) => {
  const others = where === "EMAIL_TO" ? { ...botEnv, TELEGRAM_CHAT_IDS: "-1001" } : {};
  const warning = load(undefined, { ...env, ...others }).warnings.find((one) => one.message.includes(effect));
  expect(warning?.where).toBe(where);
});

test("does not miss in the environment what the file names", () => {
  const yaml =
    "destinations:\n  ops: { type: telegram, chatId: -1001 }\n  mail: { type: email, to: [a@example.com] }\n";
  expect(load(yaml, { ...botEnv, ...mailEnv }).warnings).toEqual([]);
});

describe("TRUSTED_PROXIES", () => {
  const trusted = (env: Record<string, string>) => load(undefined, env).server.trustedProxies;

  test("is this machine by default where only this machine can connect, and nobody elsewhere", () => {
    for (const HOST of ["127.0.0.1", "::1", "localhost"]) expect(trusted({ HOST })).toEqual(["127.0.0.0/8", "::1/128"]);
    expect(trusted({ HOST: "0.0.0.0", ADMIN_TOKEN: strong })).toEqual([]);
  });

  test("takes addresses and ranges in place of the default, or none", () => {
    const ranges = ["10.0.0.3/32", "10.1.0.0/16", "2001:db8::/32", "fd00::1/128"];
    expect(trusted({ TRUSTED_PROXIES: "10.0.0.3, 10.1.0.0/16 2001:db8::/32,fd00::1," })).toEqual(ranges);
    expect(trusted({ TRUSTED_PROXIES: "none" })).toEqual([]);
  });

  const ranges = ["10.0.0.0/33", "fd00::/129", "10.0.0.0/8/8", "10.0.0.0/-1", "10.0.0.0/"];
  const neither = { message: "is neither an address nor a range", instead: "TRUSTED_PROXIES=127.0.0.1,10.0.0.0/8" };
  const everybody = { message: "is everybody", instead: "" };
  test.each([
    ...["10.0.0", "proxy.lan", "fe80::1%eth0", ...ranges].map((text) => [`10.0.0.3,${text}`, neither] as const),
    // It names nobody, which none says.
    [",", { ...neither, instead: "or none" }] as const,
    // Anybody could make up addresses.
    ...["0.0.0.0/0", "::/0", "::/1", "::ffff:0:0/96"].map((text) => [text, everybody] as const),
  ])("refuses %s, and says what to write", (text, { message, instead }) => {
    const [problem, ...more] = problemsOf(undefined, { TRUSTED_PROXIES: text });
    expect(more).toEqual([]);
    expect(problem?.message).toContain(message);
    expect(problem?.instead ?? "").toContain(instead);
  });

  test("says that others can reach the server, so that a token that can be guessed is refused", () => {
    expect(load(undefined, { ADMIN_TOKEN: "short-one" }).adminToken?.reveal()).toBe("short-one");
    const problems = problemsOf(undefined, { ADMIN_TOKEN: "short-one", TRUSTED_PROXIES: "127.0.0.1" });
    expect(problems).toMatchObject([{ message: expect.stringContaining("others can reach this server") }]);
  });
});

test("SPOOL_DIR needs a PostgreSQL, and a folder of its own", () => {
  const database = { DATABASE_URL: "postgres://db/alerts" };
  const config = load(undefined, { ...database, SPOOL_DIR: "spool" });
  expect(config.spool).toEqual({ dir: "/srv/tocsin/spool", maxBytes: 1024 ** 3 });
  expect(describeConfig(config).server.spool).toBe("/srv/tocsin/spool, up to 1.0 GiB");
  expect(load(undefined, { ...database, SPOOL_DIR: "/s", SPOOL_SIZE: "500 MB" }).spool?.maxBytes).toBe(500 * 1024 ** 2);
  const refusals = [
    [{ SPOOL_DIR: "/s" }, "DATABASE_URL is not set"],
    [{ ...database, DATA_DIR: "data", SPOOL_DIR: "data" }, "has to be a folder of its own"],
    [{ ...database, SPOOL_DIR: "/s", SPOOL_SIZE: "1 MB" }, "out of bounds"],
  ] as const;
  for (const [env, told] of refusals)
    expect(problemsOf(undefined, env)).toMatchObject([{ message: expect.stringContaining(told) }]);
  expect(load(undefined, { ...database, SPOOL_SIZE: "500 MB" }).warnings).toContainEqual(
    expect.objectContaining({ where: "SPOOL_DIR" }),
  );
});

test("DATABASE_URL is a PostgreSQL, and neither what is wrong with it nor what is described shows the password", () => {
  const password = "canaryDatabasePassword";
  const config = load(undefined, { DATABASE_URL: `postgres://tocsin:${password}@db.example.com:5433/alerts` });
  expect(config.databaseUrl?.reveal()).toContain(password);
  expect(config.dataDir).toBeUndefined();
  expect(load(undefined, { DATABASE_URL: "postgres://db/alerts", DATA_DIR: "/d" }).dataDir).toBe("/d");
  expect(JSON.stringify(config)).not.toContain(password);
  expect(describeConfig(config).server.database).toBe("PostgreSQL alerts at db.example.com:5433");
  const secrets = { webhookSecret: new Secret("a"), adminToken: new Secret("b") };
  expect(secretTextsOf(config, secrets)).toEqual(expect.arrayContaining([config.databaseUrl?.reveal(), password]));
  const asQuery = load(undefined, { DATABASE_URL: `postgres://tocsin@db/alerts?password=${password}%2F` });
  expect(secretTextsOf(asQuery, secrets)).toContain(`${password}/`);
  expect(describeConfig(asQuery).server.database).toBe("PostgreSQL alerts at db");
  for (const address of [`mysql://tocsin:${password}@db/alerts`, `postgres://tocsin:${password}/x@db/a`, password]) {
    const [problem] = problemsOf(undefined, { DATABASE_URL: address });
    expect(problem).toMatchObject({ where: "DATABASE_URL", message: "is not the address of a PostgreSQL database" });
    expect(JSON.stringify(problem)).not.toContain(password);
  }
  expect(load(undefined, { DATABASE_URL: " " }).databaseUrl).toBeUndefined();

  const listening = {
    DATABASE_URL: "postgres://pooler/alerts",
    DATABASE_LISTEN_URL: `postgres://t:${password}@db/alerts`,
  };
  const both = load(undefined, listening);
  expect(both.databaseListenUrl?.reveal()).toBe(listening.DATABASE_LISTEN_URL);
  expect(describeConfig(both).server.listensAt).toBe("PostgreSQL alerts at db");
  expect(secretTextsOf(both, secrets)).toEqual(expect.arrayContaining([listening.DATABASE_LISTEN_URL, password]));
  for (const env of [
    { ...listening, DATABASE_URL: "" },
    { ...listening, DATABASE_LISTEN_URL: password },
  ]) {
    const problems = problemsOf(undefined, env);
    expect(problems).toMatchObject([{ where: "DATABASE_LISTEN_URL" }]);
    expect(JSON.stringify(problems)).not.toContain(password);
  }
});

test("a relay has a name of its own where one is given, and no control characters or marks in it", () => {
  expect(load(undefined, { RELAY_NAME: "relay 1.eu-west_2" }).server.relayName).toBe("relay 1.eu-west_2");
  for (const name of ["<b>", "a\nb", "-a", "a".repeat(61)])
    expect(JSON.stringify(problemsOf(undefined, { RELAY_NAME: name }))).toContain("RELAY_NAME");
});
