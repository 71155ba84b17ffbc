import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Now, Random } from "../../src/core/clock.ts";
import { type AppsStandIn, createAppsStandIn } from "../apps/apps-stand-in.ts";
import { openBoard } from "../board/board.tsx";
import { createChatStandIn } from "../chat/chat-stand-in.ts";
import { createMailboxStandIn } from "../mailbox/mailbox-stand-in.ts";
import { createServiceSandbox } from "../service/service.ts";

export type DemoWorld = Awaited<ReturnType<typeof createDemoWorld>>;

const botToken = "7700:demo-bot-token-of-this-machine-only";
const deskChat = "-1001700000001";
const opsChat = "-1001700000002";

/** Urgent alerts go to the desk, the mailboxes and the phone, large ones to Slack and Discord, all to operations. */
const configurationOf = (apps: AppsStandIn) => `# The demo's configuration; yours looks the same.
destinations:
  trading-desk:
    type: telegram
    chatId: "${deskChat}"
  operations:
    type: telegram
    chatId: "${opsChat}"
  risk-mail:
    type: email
    to: [risk@desk.example, treasury@desk.example]
  phone:
    type: ntfy
    server: ${apps.ntfyServer}
    topic: ${apps.ntfyTopic}
    allowInternal: ["127.0.0.1"]
  risk-slack:
    type: slack
    url: \${SLACK_WEBHOOK_URL}
    allowInternal: ["127.0.0.1"]
  community:
    type: discord
    url: \${DISCORD_WEBHOOK_URL}
    allowInternal: ["127.0.0.1"]

routes:
  - name: urgent
    match: { severity: critical }
    to: [trading-desk, risk-mail, phone]
    continue: true
  - name: desks
    match: { severity: [critical, warning] }
    to: [risk-slack, community]
    continue: true
  - name: everything
    to: [operations]
`;

/** All parts of a demo except Tocsin, on free ports of this machine. */
export async function createDemoWorld({ now, random }: { now: Now; random: Random }) {
  const dataDir = await mkdtemp(join(tmpdir(), "tocsin-demo-"));
  const configPath = join(dataDir, "tocsin.yaml");
  const apps = await createAppsStandIn({ now });
  await writeFile(configPath, configurationOf(apps));
  const chat = await createChatStandIn({
    now,
    tokens: [botToken],
    chats: [
      { id: deskChat, title: "Trading desk" },
      { id: opsChat, title: "Operations" },
    ],
  });
  const mailbox = await createMailboxStandIn({ now });
  const board = await openBoard([chat.source, mailbox.source, ...apps.sources]);
  const service = await createServiceSandbox({ now, random, speed: 1, metricCount: 5_000 });
  return {
    service,
    /** The page that shows the messages as people see them. */
    board,
    dataDir,
    env: {
      DATA_DIR: dataDir,
      TOCSIN_CONFIG: configPath,
      ALERTING_URL: service.alertingUrl,
      ALERTING_API_KEY: service.apiKey,
      PRICING_URL: service.pricingUrl,
      TELEGRAM_BOT_TOKEN: botToken,
      TELEGRAM_API_ROOT: chat.url,
      SMTP_URL: mailbox.smtpUrl,
      EMAIL_FROM: "Tocsin <alerts@tocsin.example>",
      SLACK_WEBHOOK_URL: apps.slackUrl,
      DISCORD_WEBHOOK_URL: apps.discordUrl,
      LOG_LEVEL: "warn",
    },
    async close(): Promise<void> {
      for (const part of [service, board, chat, mailbox, apps]) await part.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
