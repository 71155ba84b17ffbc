import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Now, Random } from "../../core/clock.ts";
import { type ChatStandIn, createChatStandIn } from "../../sandbox/chat/chat-stand-in.ts";
import { createMailboxStandIn, type MailboxStandIn } from "../../sandbox/mailbox/mailbox-stand-in.ts";
import { createServiceSandbox, type ServiceSandbox } from "../../sandbox/service/service.ts";

/** Everything of a demo that is not Tocsin itself, on free ports of this machine. */
export interface DemoWorld {
  service: ServiceSandbox;
  chat: ChatStandIn;
  mailbox: MailboxStandIn;
  dataDir: string;
  /** What a real deployment would be given. */
  env: Record<string, string>;
  close(): Promise<void>;
}

const botToken = "7700:demo-bot-token-of-this-machine-only";
const deskChat = "-1001700000001";
const opsChat = "-1001700000002";

/**
 * Two chats and two mailboxes, and routes that show what routing does: urgent alerts to the desk, everything to
 * operations.
 */
const configuration = `# The demo's configuration; yours looks the same.
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

routes:
  - name: urgent
    match: { severity: critical }
    to: [trading-desk, risk-mail]
    continue: true
  - name: everything
    to: [operations]
`;

export async function createDemoWorld(deps: { now: Now; random: Random }): Promise<DemoWorld> {
  const { now, random } = deps;
  const dataDir = await mkdtemp(join(tmpdir(), "tocsin-demo-"));
  const configPath = join(dataDir, "tocsin.yaml");
  await writeFile(configPath, configuration);
  const chat = await createChatStandIn({
    now,
    tokens: [botToken],
    chats: [
      { id: deskChat, title: "Trading desk" },
      { id: opsChat, title: "Operations" },
    ],
  });
  const mailbox = await createMailboxStandIn({ now });
  const service = await createServiceSandbox({ now, random, speed: 1, metricCount: 5_000 });
  return {
    service,
    chat,
    mailbox,
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
      LOG_LEVEL: "warn",
    },
    async close() {
      await service.close();
      await chat.close();
      await mailbox.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
