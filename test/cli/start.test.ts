import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { createChatStandIn } from "../../workshop/chat/chat-stand-in.ts";
import { createMailboxStandIn } from "../../workshop/mailbox/mailbox-stand-in.ts";
import { personWho, startTocsin } from "../support/cli.ts";
import { compiledThread } from "../support/compiled-thread.ts";
import { readingThreadEntry } from "../support/reader.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const token = "7700:canary-bot-token-0123456789abcdefghij";
const desk = "-1001700000001";
const enter = "\r";
const ctrlC = "\u0003";

/** A chat, and a folder without a configuration. */
async function openChat(more: Record<string, string> = {}) {
  const chat = await createChatStandIn({ now: Date.now, tokens: [token], chats: [{ id: desk, title: "Desk" }] });
  onTestFinished(() => chat.close());
  return { chat, cwd: makeTempFolder(), env: { TELEGRAM_API_ROOT: chat.url, ...more } };
}

interface Given {
  cwd: string;
  env: Record<string, string>;
  /** Of a person at a terminal. Default: nobody is there. */
  answers?: Parameters<typeof personWho>;
  /** Whether stdout is a terminal too. */
  showsSecrets?: boolean;
}

function start(argv: string[], { cwd, env, answers, showsSecrets = false }: Given) {
  const person = answers && personWho(...answers);
  const isAtTerminal = answers !== undefined;
  return startTocsin(["start", ...argv], {
    env: { PORT: "0", ...env },
    cwd,
    ...person?.terminal,
    isTty: { stdin: isAtTerminal, stdout: showsSecrets, stderr: isAtTerminal },
    ownCommand: "npx tocsin",
    readingThreadEntry,
    storeThreadEntry: compiledThread(),
  });
}

const readEnvFile = (cwd: string) => readFileSync(join(cwd, ".env"), "utf8");

const takesToken: [RegExp, string] = [/Bot token/, `${token}${enter}`];
const isAsked = (key: string): [RegExp, string] => [/Write this to \.env\?/, key];
const toDesk: [RegExp, string] = [/Send alerts to supergroup "Desk"\?/, "y"];

it("tocsin start asks for a token, finds the chat, rings it, writes .env, and serves", async () => {
  const { chat, cwd, env } = await openChat();
  writeFileSync(join(cwd, ".env"), "# mine\nLOG_LEVEL=error\n");
  const started = start(["--json"], {
    cwd,
    env,
    answers: [
      [/How shall alerts reach you/, enter],
      takesToken,
      [/looking for a chat/, () => chat.post(desk, "Dana", "/start@tocsin_7700_bot")],
      ...[toDesk, isAsked("y")],
    ],
  });
  await expect.poll(started.stdout).not.toBe("");
  const { data } = JSON.parse(started.stdout());
  expect((await fetch(`${data.url}/healthz`)).status).toBe(200);
  expect((await started.stop()).status).toBe(0);
  const texts = ["/start@tocsin_7700_bot", expect.stringMatching(/test/i)];
  expect(chat.messages(desk).map(({ text }) => text)).toEqual(texts);
  expect(readEnvFile(cwd)).toBe(`# mine\nLOG_LEVEL=error\nTELEGRAM_BOT_TOKEN=${token}\nTELEGRAM_CHAT_IDS=${desk}\n`);
  expect(statSync(join(cwd, ".env")).mode & 0o777).toBe(0o600);
  const variables = { TELEGRAM_BOT_TOKEN: "7700:***", TELEGRAM_CHAT_IDS: desk };
  const changes = Object.entries(variables).map(([variable, after]) => ({ variable, before: "none", after }));
  const tests = [{ destination: `telegram:${desk}`, deliveries: [{ state: "sent" }] }];
  expect(data).toMatchObject({ changed: true, serving: true, variables: changes, tests });
  expect(started.output()).not.toContain(token);
});

it("tocsin start proposes the chat that its bot has, and ends with what can be typed and pasted", async () => {
  const { cwd, env } = await openChat();
  const given = { cwd, env: { ...env, TELEGRAM_BOT_TOKEN: token }, answers: [toDesk, isAsked("y")] };
  const started = start(["--telegram"], { ...given, showsSecrets: true });
  await expect.poll(started.stdout).not.toBe("");
  expect(started.output()).not.toContain("while this runs");
  expect(started.stdout()).toMatch(/later: npx tocsin serve[\s\S]*npx tocsin test sends one marked alert/);
  const [, body, hook = ""] = /^curl -d '(.*)' (\S+)$/m.exec(started.stdout()) ?? [];
  expect((await fetch(hook, { method: "POST", body })).status).toBe(202);
});

const waits: [RegExp, string][] = [
  [/Send alerts to/, "n"],
  [/while this runs[\s\S]*waiting/, "stop"],
];
it.each<[string, [RegExp, string][]]>([
  ["at the token", [[/Bot token/, ctrlC]]],
  ["while it waits for a chat", [takesToken, ...waits]],
  ["at the last question", [takesToken, isAsked(ctrlC)]],
  ["with a no", [takesToken, isAsked("n")]],
])("tocsin start leaves .env as it was when it is stopped %s", async (_when, answers) => {
  const { cwd, env } = await openChat();
  const isWaiting = answers.some(([, act]) => act === "stop");
  const started = start(["--telegram", ...(isWaiting ? [] : ["--chat", desk])], {
    cwd,
    env,
    answers: answers.map(([question, act]) => [question, act === "stop" ? () => void started.stop() : act]),
  });
  expect((await started.ended).status).toBe(1);
  expect(existsSync(join(cwd, ".env"))).toBe(false);
  expect(started.output()).not.toContain(token);
});

it.each([
  ["that Telegram does not know", token.replace("7700", "7701"), /does not know the token of bot 7701/],
  ["that is none", "changeme", /TELEGRAM_BOT_TOKEN is not a bot token/],
])("tocsin start asks for another token where the environment has one %s", async (_what, wrong, said) => {
  const { cwd, env } = await openChat();
  const answers: Given["answers"] = [[said, () => {}], takesToken, isAsked("y")];
  const started = start(["--chat", desk, "--no-serve"], { cwd, env: { ...env, TELEGRAM_BOT_TOKEN: wrong }, answers });
  expect((await started.ended).status).toBe(0);
  expect(readEnvFile(cwd)).toBe(`TELEGRAM_BOT_TOKEN=${token}\nTELEGRAM_CHAT_IDS=${desk}\n`);
  expect(started.output()).not.toContain(token);
});

it("tocsin start says which of the chats that stay the bot cannot write to", async () => {
  const { cwd, env } = await openChat({ TELEGRAM_BOT_TOKEN: token, TELEGRAM_CHAT_IDS: "-5" });
  const started = start(["--chat", desk, "--yes", "--no-serve"], { cwd, env });
  expect((await started.ended).status).toBe(0);
  expect(started.output()).toMatch(/warning: TELEGRAM_CHAT_IDS has -5 as well, where this bot cannot write/);
  expect(readEnvFile(cwd)).toContain(`TELEGRAM_CHAT_IDS=-5,${desk}\n`);
});

it("tocsin start takes a mail server's address with a wrong percent sign for a mistake of its writer", async () => {
  const cwd = makeTempFolder();
  const env = { SMTP_URL: "smtp://u%zz:canary-password@127.0.0.1:9" };
  const started = start(["--mail", "--to", "a@desk.example", "--yes"], { cwd, env });
  expect((await started.ended).status).toBe(2);
  expect(started.output()).toContain("there is no sender");
  expect(started.output()).not.toMatch(/defect|canary-password/);
});

it("tocsin start needs nobody: the chat and the token are given, .env is written, and it ends", async () => {
  const { chat, cwd, env } = await openChat({ TELEGRAM_BOT_TOKEN: token });
  writeFileSync(join(cwd, ".env"), "TELEGRAM_CHAT_IDS=-5\nPUBLIC_URL=https://alerts.example.com");
  const again = () => start(["--chat", desk, "--yes", "--no-serve", "--json"], { cwd, env });
  const first = again();
  expect((await first.ended).status).toBe(0);
  expect(readEnvFile(cwd)).toBe(
    `TELEGRAM_CHAT_IDS=${desk}\nPUBLIC_URL=https://alerts.example.com\nTELEGRAM_BOT_TOKEN=${token}\n`,
  );
  expect(chat.messages(desk)).toHaveLength(1);
  const second = again();
  expect((await second.ended).status).toBe(0);
  expect(JSON.parse(second.stdout()).data).toMatchObject({ changed: false });
  expect(first.output() + second.output()).not.toContain(token);
});

it("tocsin start writes mailboxes after a mail has arrived", async () => {
  const mailbox = await createMailboxStandIn({ now: Date.now });
  onTestFinished(() => mailbox.close());
  const cwd = makeTempFolder();
  const argv = ["--mail", "--to", "risk@desk.example,ops@desk.example", "--from", "Tocsin <tocsin@desk.example>"];
  const started = start([...argv, "--yes", "--no-serve"], { cwd, env: { SMTP_URL: mailbox.smtpUrl } });
  expect((await started.ended).status).toBe(0);
  for (const address of ["risk@desk.example", "ops@desk.example"]) expect(mailbox.mails(address)).toHaveLength(1);
  const addresses = { EMAIL_FROM: "Tocsin <tocsin@desk.example>", EMAIL_TO: "risk@desk.example,ops@desk.example" };
  expect(parseEnv(readEnvFile(cwd))).toEqual({ SMTP_URL: mailbox.smtpUrl, ...addresses });
});

it("tocsin start writes nothing where the bot, the chat or the mail server refuses, and says what to do", async () => {
  const { chat, cwd, env } = await openChat();
  const another = { ...env, TELEGRAM_BOT_TOKEN: token.replace("7700", "7701") };
  const wrong = start(["--chat", desk, "--yes"], { cwd, env: another });
  expect((await wrong.ended).status).toBe(1);
  chat.setMembership(desk, "kicked");
  const kicked = start(["--chat", desk, "--yes"], { cwd, env: { ...env, TELEGRAM_BOT_TOKEN: token } });
  expect((await kicked.ended).status).toBe(1);
  expect(kicked.output()).toMatch(/error: .*\nhint: /);
  const mail = ["--to", "a@desk.example", "--from", "b@desk.example", "--yes"];
  const dead = start(mail, { cwd, env: { SMTP_URL: "smtp://127.0.0.1:9" } });
  expect((await dead.ended).status).toBe(1);
  expect(dead.output()).toContain(".env is as it was");
  const nobody = start([], { cwd, env });
  expect((await nobody.ended).status).toBe(2);
  expect(existsSync(join(cwd, ".env"))).toBe(false);
});
