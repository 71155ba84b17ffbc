import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findDataDirProblem } from "../../src/config/check-data-dir.ts";
import { checkEnvFile } from "../../src/config/check-env-file.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import type { ConfigError } from "../../src/config/shape/problem-list.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { botEnv, botToken, load, mailEnv, problemsOf } from "./load.ts";

/** What is written as one thing and would be read as another. */

describe("days of quiet hours", () => {
  const yaml = (days: string) =>
    `destinations:\n  desk:\n    type: telegram\n    chatId: -1\n    quietHours: { from: "22:00", to: "07:00", days: ${days} }\n`;
  const daysOf = (days: string) => load(yaml(days), botEnv).rules.destinations[0]?.quietHours?.days;

  test.each([
    ["[mon-fri]", [1, 2, 3, 4, 5]],
    ["mon-fri", [1, 2, 3, 4, 5]],
    ["fri-mon", [0, 1, 5, 6]],
    ["mon..wed", [1, 2, 3]],
    ["Monday to Friday", [1, 2, 3, 4, 5]],
    ["[Mon, wednesday, fri-sat]", [1, 3, 5, 6]],
    ['"sat, sun"', [0, 6]],
    ["[mon-fri, wed]", [1, 2, 3, 4, 5]],
    ["sun", [0]],
    ["thurs", [4]],
  ])("%s", (written, days) => {
    expect(daysOf(written)).toEqual(days);
  });

  test.each([
    ["sat/sun", "write [sat, sun]"],
    ["mon fri", "write [mon, fri]"],
    ["monkey", "did you mean monday?"],
    ["mondy", "did you mean monday?"],
    ["weekdays", "write mon-fri"],
    ["weekend", "write [sat, sun]"],
    ["daily", "leave days out"],
    ["mon-fri-sun", "write days or ranges"],
    ["mon-", "write days or ranges"],
    ["mon-xyz", "write days or ranges"],
    ["[fri-mno]", "did you mean mon?"],
    ["1-5", "write days or ranges"],
    ["[]", "write e.g. mon-fri"],
  ])("%s is refused", (written, instead) => {
    const problems = problemsOf(yaml(written), botEnv);
    expect(problems).toHaveLength(1);
    expect(problems[0]?.where).toMatch(/^tocsin\.yaml:5:\d+$/);
    expect(problems[0]?.instead).toContain(instead);
  });
});

describe("addresses that may be internal", () => {
  const yaml = (entry: string) =>
    `destinations:\n  desk:\n    type: webhook\n    url: https://x.example\n    allowInternal: ["${entry}"]\n`;

  test.each(["10.0.0.0/8", "10.1.2.3", "fdaa::/16", "::1", "hooks.lan"])("may be %s", (entry) => {
    expect(load(yaml(entry)).rules.destinations[0]).toMatchObject({ allowInternal: [entry] });
  });

  test.each(["10.0.0.0/33", "10.0.0/8", "fd00::/129", "10.0.0.0/8/8", "*.lan"])("may not be %s", (entry) => {
    expect(problemsOf(yaml(entry))).toMatchObject([
      { where: expect.stringMatching(/^tocsin\.yaml:5:\d+$/), instead: "write e.g. hooks.lan or 10.0.0.0/8" },
    ]);
  });
});

test.each([
  ["https://x.example/hooks", "holds /hooks", "write https://x.example"],
  ["https://x.example/base/hooks/", "holds /hooks", "write https://x.example/base"],
  ["https://x.example/hooks/canarySecret", "holds /hooks", "write https://x.example"],
  ["x.example", "is not an address", "write https://x.example"],
  ["x.example:8443/hooks/canarySecret", "is not an address", "write https://x.example:8443"],
  ["https:/x.example", "is not an address", "write the base address alone, e.g. https://alerts.example.com"],
  ["https://x.example/a b", "holds a space", "write the base address alone, e.g. https://alerts.example.com"],
  ["localhost:8080", "is not an address", "write http://localhost:8080"],
  ["x example", "is not an address", "write the base address alone, e.g. https://alerts.example.com"],
])("PUBLIC_URL %s is refused with what to write", (url, message, instead) => {
  const problems = problemsOf(undefined, { PUBLIC_URL: url });
  expect(problems).toMatchObject([{ where: "PUBLIC_URL", instead }]);
  expect(problems[0]?.message).toContain(message);
  expect(JSON.stringify(problems)).not.toContain("canarySecret");
});

test("PUBLIC_URL may have a path of its own", () => {
  const { server } = load(undefined, { PUBLIC_URL: "https://x.example/webhooks" });
  expect(server.publicUrl).toBe("https://x.example/webhooks");
});

describe("variables that nobody reads", () => {
  test.each([
    ["TELEGRAM_CHAT_ID", "TELEGRAM_CHAT_IDS"],
    ["TELEGRAM_BOTTOKEN", "TELEGRAM_BOT_TOKEN"],
    ["telegram_chat_ids", "TELEGRAM_CHAT_IDS"],
    ["EMAIL_FORM", "EMAIL_FROM"],
    ["SMTP_URI", "SMTP_URL"],
    ["ALERTING_API_KYE", "ALERTING_API_KEY"],
    ["TOCSIN_CONFIGS", "TOCSIN_CONFIG"],
  ])("%s is a mistake where %s is meant and not set", (name, meant) => {
    expect(problemsOf(undefined, { [name]: "canary" })).toEqual([
      {
        where: name,
        message: "is set, but Tocsin reads no variable of this name",
        instead: `did you mean ${meant}? Otherwise unset it`,
      },
    ]);
  });

  test.each([
    ["SMTP_PASSWORD", "SMTP_URL=smtps://"],
    ["TELEGRAM_TOKEN", "did you mean TELEGRAM_BOT_TOKEN?"],
    ["TELEGRAM_THREAD", "refer to it in the file"],
    ["DATADIR", "did you mean DATA_DIR?"],
    ["PUBLIC_URI", "did you mean PUBLIC_URL?"],
    ["ADMIN_TOKN", "did you mean ADMIN_TOKEN?"],
    ["TRUSTED_PROXY", "did you mean TRUSTED_PROXIES?"],
    ["TOCSIN_PORT", "did you mean PORT?"],
  ])("%s is worth a warning: others may have set it", (name, instead) => {
    const warnings = load(undefined, { [name]: "canary" }).warnings.filter(({ where }) => where === name);
    expect(warnings).toMatchObject([{ instead: expect.stringContaining(instead) }]);
  });

  const foreign = ["EMAIL_TOKEN", "HOSTNAME", "HOSTS", "XDG_DATA_DIRS", "PATH", "npm_config_loglevel", "REPORT"];
  test.each([...foreign, "APP_TOKEN"])("%s is nobody's business", (name) => {
    const warnings = load(undefined, { [name]: "x" }).warnings.filter(({ where }) => where === name);
    expect(warnings).toEqual([]);
  });

  test("one that the file refers to is read, and one beside the right one only worth a warning", () => {
    const yaml = `destinations: { t: { type: telegram, chatId: "\${TELEGRAM_CHAT_ID}" } }`;
    expect(load(yaml, { ...botEnv, TELEGRAM_CHAT_ID: "-5" }).warnings).toEqual([]);
    const both = load(undefined, { ...botEnv, TELEGRAM_CHAT_IDS: "-5", TELEGRAM_CHAT_ID: "-6" });
    expect(both.warnings).toMatchObject([
      { where: "TELEGRAM_CHAT_ID", instead: "TELEGRAM_CHAT_IDS is set as well; unset this one" },
    ]);
  });

  test("one that is left over beside written destinations stops nothing", () => {
    const yaml = "destinations: { t: { type: telegram, chatId: -5 } }";
    const { warnings } = load(yaml, { ...botEnv, TELEGRAM_CHAT_ID: "-5" });
    expect(warnings).toMatchObject([{ where: "TELEGRAM_CHAT_ID" }]);
  });
});

describe("a .env file", () => {
  const find = (text: string) => checkEnvFile(text, (name) => !name.startsWith("OTHER"));
  const problemsIn = (text: string) => find(text).problems.map(({ where, message }) => `${where} ${message}`);

  const plain = "A=1\nB=two words\n# a comment\n\nexport C='x # y'\n";
  test.each([
    `${plain}D="#" # comment\nE=x # comment\nF=\nG = 1\nH=a=b\n`,
    'KEY="-----BEGIN\nabc==\n-----END"\nB=1\n',
    "A=1\r\nB=2\r\n",
    "",
    "OTHER=a#b\nOTHER2=“x”\n",
  ])("that is in order is left alone: %j", (text) => {
    expect(find(text)).toEqual({ problems: [], warnings: [] });
  });

  test.each([
    ["A=1\nnoequals\nB=2\n", [".env:2 is not NAME=value, so it and the line below are not read"]],
    ["A: 1\n", [".env:1 is not NAME=value, so it and the line below are not read"]],
    ["MY NAME=1\nB=2\n", [".env:1 is not NAME=value, so it is not read"]],
    ["=1\nB=2\n", [".env:1 is not NAME=value, so it and the line below are not read"]],
    ['A=1\nB="open\nC=2\n', [".env:2 B: the quote at its beginning is not closed in its line"]],
    ['B="open\nC=2\nD="x"\n', [".env:1 B: the quote at its beginning is not closed in its line"]],
    ['A="a b" tail\n', [".env:1 A: what follows the closing quote is ignored"]],
    ["A=abc#def\n", [".env:1 A: everything from # on is left out"]],
    ["A=“x”\n", [".env:1 A: begins with a typographic quote, which becomes a part of the value"]],
    ["\uFEFFA=1\n", [".env:1 A is not read"]],
    ["B=1\n  # indented\nA=1\n", [".env:3 A is not read"]],
    ["\0A\0=\0", [".env:1 the file is not UTF-8 text"]],
    ["A\nB\nC=3\n", [1, 2].map((line) => `.env:${line} is not NAME=value, so it and the line below are not read`)],
  ])("%j is reported by its lines", (text, problems) => {
    expect(problemsIn(text)).toEqual(problems);
  });

  test("says which line holds when a name is set twice", () => {
    expect(find("A=1\nB=2\nA=3\n").warnings).toMatchObject([
      { where: ".env:3", message: "A is set in line 1 already; the later line holds" },
    ]);
  });

  test("is reported together with all else, before it, and without a value", () => {
    const cwd = makeTempFolder();
    writeFileSync(join(cwd, ".env"), `${botToken}\nADMIN_TOKEN="canary value\nPORT=1\nPORT=2\n`);
    writeFileSync(join(cwd, "tocsin.yaml"), "rutes: []\n");
    const isRefused = ({ problems, message }: ConfigError) => {
      expect(problems.map(({ where }) => where)).toEqual([".env:1", ".env:2", "PORT", "tocsin.yaml:1:1"]);
      for (const secret of ["canary", botToken]) expect(message).not.toContain(secret);
      return true;
    };
    expect(() => loadConfig({ env: { PORT: "x" }, cwd })).toThrow(expect.toSatisfy(isRefused));
  });
});

test("DATA_DIR may be missing, below folders that are missing too", () => {
  expect(findDataDirProblem(join(makeTempFolder(), "a", "b"))).toBeUndefined();
});

test("DATA_DIR that is a file, lies below one, or in the kernel's own file systems is refused in a line", () => {
  const folder = makeTempFolder();
  const file = join(folder, "file");
  writeFileSync(file, "");
  mkdirSync(join(folder, "fine"));
  expect(findDataDirProblem(join(folder, "fine"))).toBeUndefined();
  expect(findDataDirProblem(file)).toMatchObject({ message: `${file} is a file, not a folder`, isOfUser: false });
  expect(findDataDirProblem(join(file, "data"))?.message).toBe(`${file} is a file, so no folder can be made in it`);
  symlinkSync(join(folder, "gone"), join(folder, "link"));
  expect(findDataDirProblem(join(folder, "link", "data"))?.message).toBe(
    `${join(folder, "link")} is a link to what is not there`,
  );
  const long = join(folder, "x".repeat(300));
  expect(findDataDirProblem(long)?.message).toBe(`${long} cannot be a folder (ENAMETOOLONG)`);
  expect(findDataDirProblem("/proc/tocsin")?.message).toBe("/proc/tocsin lies in /proc, which keeps no files");
});

test("DATA_DIR is a mistake among the others, and only a warning where another user may write it", () => {
  const env = { DATA_DIR: "/x", PORT: "no" };
  const problem = { message: "/x is a file, not a folder", instead: "set DATA_DIR" };
  const readFile = () => undefined;
  const read = (isOfUser: boolean, given: Record<string, string>) =>
    loadConfig({ env: given, cwd: "/", readFile, inspectDataDir: () => ({ ...problem, isOfUser }) });
  expect(() => read(false, env)).toThrow(/PORT.*\n.*\n.*DATA_DIR {2}\/x is a file/);
  expect(read(true, { DATA_DIR: "/x" }).warnings).toContainEqual({ where: "DATA_DIR", ...problem });
});

describe("something else where a map or a list belongs", () => {
  const ops = "destinations:\n  ops: { type: telegram, chatId: -1";
  const desk = "destinations:\n  ops: { type: telegram, chatId: -1 }\n  desk: { type: telegram, chatId: -2 }\n";
  test.each([
    [`${desk}routes: [{ to: ops, fallback: desk }]`, "routes[0].fallback", "write { to: desk, after: 10m }"],
    [`${ops}, quietHours: "22:30-06:15" }`, "destinations.ops.quietHours", 'write { from: "22:30", to: "06:15" }'],
    [`${ops}, pace: 20/min }`, "destinations.ops.pace", "write { perMinute: 20 }"],
    ["destinations:\n  ops: -1001234", "destinations.ops", "write { type: telegram, chatId: -1001234 }"],
    ["destinations:\n  ops: a@example.com", "destinations.ops", "write { type: email, to: [a@example.com] }"],
    ["destinations:\n  desk:\n  type: telegram\n", "destinations.desk", "indent the lines that belong to desk: by two"],
    [`${desk}routes:\n  -\n  - to: desk\n`, "routes[0]", "remove its '- ', or write the options of the entry"],
    [`${desk}routes: { to: ops }`, "routes", "write a list: each route begins with '- '"],
    ["destinations: [a]", "destinations", "write a map: a name, a colon"],
    ["delivery: 5", "delivery", "write { giveUpAfter: 24h }"],
  ])("%s", (yaml, path, instead) => {
    const problem = problemsOf(yaml, { ...botEnv, ...mailEnv }).find((one) => one.path === path);
    expect(problem?.instead).toContain(instead);
    expect(problem?.message).toMatch(/^(is .* belongs here|has nothing below it|is an empty entry)$/);
  });
});
