import { onTestFinished } from "vitest";
import type { SendContext } from "../../src/core/ports/channel.ts";
import type { EmailMessage } from "../../src/vendors/email/render.tsx";
import { createEmailChannel, type EmailChannelOptions } from "../../src/vendors/email/send.ts";
import type { EmailAccount } from "../../src/vendors/email/vendor.ts";
import { destinationBase } from "../support/destinations.ts";
import { sayOutcome } from "../support/say-outcome.ts";
import { createScriptedSmtpServer, type ScriptedSmtpOptions } from "../support/scripted-smtp-server.ts";
import { sendContext } from "../support/send-context.ts";

export const mailMessage: EmailMessage = {
  kind: "email",
  subject: "TVL of USDC fell",
  text: "It fell.\n.\nBy 4 %.",
  html: "<p>It fell.</p>",
};

export interface MailOptions extends EmailChannelOptions, Pick<ScriptedSmtpOptions, "script" | "extensions"> {
  server?: ScriptedSmtpOptions;
  account?: Partial<EmailAccount>;
  /** Whether the channel trusts the certificate of the server. Default true. */
  trusts?: boolean;
}

/** A mail server that fails where its script says, and a channel to it. Both end with the test. */
export async function startMail(given: MailOptions = {}) {
  const { server: kind, script, extensions, account, trusts = true, ...options } = given;
  const server = await createScriptedSmtpServer({ script, extensions, ...kind });
  const { port } = server;
  const channel = createEmailChannel(
    {
      ...destinationBase("ops mail"),
      type: "email",
      to: ["ops@example.com"],
      from: "Tocsin <alerts@tocsin.example>",
      account: {
        ...{ id: `127.0.0.1:${port}`, host: "127.0.0.1", port, secure: false },
        ...{ allowInsecureAuth: false, rejectUnauthorized: true, ...account },
      },
    },
    { ...(trusts && { tls: { ca: server.ca } }), ...options },
  );
  onTestFinished(() => channel.close());
  const context = { recipient: "ops@example.com", deliveryId: "0193-delivery", alertId: "0193-alert" };
  const send = (change: Partial<SendContext> = {}, message = mailMessage) =>
    channel.send(message, sendContext({ ...context, ...change }));
  return { server, channel, send, say: async (change?: Partial<SendContext>) => sayOutcome(await send(change)) };
}
