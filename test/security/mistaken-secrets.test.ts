import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { findCanaries } from "../support/canaries.ts";
import { runTocsin } from "../support/cli.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { canaries, canaryNames } from "./canary-world.ts";

/** Item 12: a complaint about a value must not repeat it when it is a secret in the wrong place. */
it("repeats no secret of a configuration that is full of mistakes", async () => {
  const { hook, admin, alertingKey, bot, mailPassword, signing, slack } = canaries;
  const smtpUrl = `smtp://desk:${mailPassword.value}@mail.example`;
  const botToken = bot.value.repeat(2);
  const cwd = makeTempFolder();
  const env = {
    PORT: admin.value,
    PUBLIC_URL: "https://alerts.example",
    WEBHOOK_SECRET: `${hook.value} `.repeat(2),
    ADMIN_TOKEN: admin.value,
    ALERTING_URL: alertingKey.value,
    ALERTING_API_KEY: alertingKey.value,
    TELEGRAM_BOT_TOKEN: botToken,
    TELEGRAM_API_ROOT: `bot${botToken}`,
    // Long enough to be cut within the secret where it is quoted.
    TELEGRAM_CHAT_IDS: `${botToken},the-chat-of-the-desk-is-${botToken}`,
    SMTP_URL: smtpUrl,
    EMAIL_FROM: smtpUrl,
    EMAIL_TO: smtpUrl,
    SIGNING: signing.value.replace("whsec_", ""),
    SLACK: slack.value,
    LOG_LEVEL: "trace",
  };
  writeFileSync(
    join(cwd, "tocsin.yaml"),
    `
destinations:
  hook: { type: webhook, url: "\${SLACK}", secret: "\${SIGNING}", headers: { "X Y": "\${SLACK}" }, timeZone: "\${SLACK}" }
  slack: { type: slack, url: "\${SLACK}", allowInternal: ["\${SLACK}"] }
  chat: { type: telegram, chatId: "\${TELEGRAM_BOT_TOKEN}", botToken: "\${TELEGRAM_BOT_TOKEN}", silent: "\${SLACK}" }
  mail: { type: email, to: ["\${SMTP_URL}"], smtpUrl: "\${SMTP_URL}", from: "\${SMTP_URL}" }
routes: [{ name: "\${SLACK}", to: ["\${SLACK}"], match: { severity: { matches: "(\${SLACK}" } } },
  { match: "token=\${SLACK} or token=x severty=\${SLACK}" }, { match: ["value>\${SLACK}", "\${SMTP_URL}", "token='\${SLACK}'"] },
  { match: { token: "*\${SIGNING}*", title: { contains: "\${SIGNING}" }, payload: { a: "\${SLACK}" }, value: ">= \${SIGNING}" } },
  { fallback: "\${SIGNING}", match: { chain: "\${SIGNING},\${SIGNING}", "payload.a": { not: "^\${SIGNING}" } } }]
mutes: "\${SLACK}"
`,
  );
  for (const argv of [["check"], ["check", "--json"], ["serve"], ["serve", "--json"], ["status"], ["explain", "x"]]) {
    const run = await runTocsin(argv, { env, cwd });
    expect(run.status).toBe(2);
    expect(run.stderr + run.stdout).toContain("SMTP_URL");
    expect(findCanaries(run.stderr + run.stdout, canaryNames)).toEqual([]);
  }
});
