import PostalMime from "postal-mime";
import { afterEach, describe, expect, it } from "vitest";
import type { AlertPictureResult, DrawAlertPicture } from "../../src/core/ports/alert-picture.ts";
import { createPatience } from "../../src/vendors/email/patience.ts";
import type { EmailMessage } from "../../src/vendors/email/render.tsx";
import { createEmailChannel } from "../../src/vendors/email/send.ts";
import { fullFacts, makeAlert, makeContext, publicUrl } from "../rendering/sample.ts";
import { destinationBase } from "../support/destinations.ts";
import { createRendering } from "../support/rendering.ts";
import { createScriptedSmtpServer } from "../support/scripted-smtp-server.ts";
import { sendContext } from "../support/send-context.ts";
import { createTestClock, type TestClock } from "../support/test-clock.ts";

/** As much of a PNG as is looked at: 720 pixels wide. */
const png = Buffer.alloc(64);
png.write("\u0089PNG\r\n\u001a\n", "latin1");
png.writeUInt32BE(720, 16);
png.writeUInt32BE(700, 20);
const drawn = { png: new Uint8Array(png), alt: `USDC "TVL": 4.81 M USD <b>` };
const minute = 60_000;

const rendering = createRendering({ publicUrl });
const document = rendering.composeAlert(makeAlert({ facts: fullFacts }), makeContext());
const messageWith = (picture = true, form: "rich" | "plain" = "rich") =>
  rendering.renderDocument("email", document, {
    form,
    timeZone: "Europe/Zurich",
    picture: picture ? { alt: "Value over time" } : undefined,
  })[0] as EmailMessage;

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function open(draw?: DrawAlertPicture, clock: TestClock = createTestClock()) {
  const server = await createScriptedSmtpServer();
  const { port } = server;
  const account = { id: `127.0.0.1:${port}`, host: "127.0.0.1", port, secure: false };
  const channel = createEmailChannel(
    {
      ...destinationBase("mail"),
      type: "email",
      to: ["ops@example.com"],
      from: "alerts@tocsin.example",
      account: { ...account, allowInsecureAuth: false, rejectUnauthorized: true },
    },
    { waitForPicture: draw && createPatience(draw, clock.now) },
  );
  closers.push(server.close, channel.close);
  const send = (message = messageWith(), change = {}) =>
    channel.send(message, sendContext({ recipient: "ops@example.com", ...change }));
  const read = async (index = 0) => ({
    ...(await PostalMime.parse(server.mails[index] ?? "")),
    source: String(server.mails[index]),
  });
  return { server, clock, send, read };
}

describe("a mail with a picture", () => {
  it("holds it behind its text, with words for whoever does not see it", async () => {
    const asked: object[] = [];
    const { send, read } = await open(async (alertId, { signal: _signal, ...options }) => {
      asked.push({ alertId, ...options });
      return drawn;
    });
    expect(await send()).toMatchObject({ kind: "sent" });
    const mail = await read();
    expect(asked).toEqual([
      expect.objectContaining({ alertId: sendContext().alertId, timeZone: "Europe/Zurich", deadlineMs: 2_000 }),
    ]);
    expect(mail.attachments).toMatchObject([
      { filename: "chart.png", mimeType: "image/png", disposition: "inline", contentId: "<chart@tocsin>" },
    ]);
    expect(Buffer.from(mail.attachments[0]?.content as ArrayBuffer)).toEqual(png);
    const image = /<img [^>]*>/.exec(mail.html ?? "")?.[0] ?? "";
    expect(image).toContain('src="cid:chart@tocsin"');
    expect(image).toContain('alt="USDC &quot;TVL&quot;: 4.81 M USD &lt;b&gt;"');
    expect(image).toContain('width="360"');
    expect(mail.html?.replace(/<p [^>]*><img [^>]*><\/p>/, "").trim()).toBe(messageWith().html);
    expect(mail.source).toMatch(
      /multipart\/alternative[\s\S]*text\/plain[\s\S]*multipart\/related[\s\S]*text\/html[\s\S]*image\/png/,
    );
  });

  it("says in its text what it says without", async () => {
    const [one, other] = [await open(async () => drawn), await open()];
    await one.send();
    await other.send();
    expect((await one.read()).text).toBe((await other.read()).text);
    expect(messageWith().html).toBe(messageWith(false).html);
    expect((await other.read()).attachments).toEqual([]);
  });

  it("has none in its plain form, which is for what was refused", async () => {
    const { send, read } = await open(async () => drawn);
    await send(messageWith(true, "plain"));
    expect((await read()).attachments).toEqual([]);
  });

  it.each<AlertPictureResult>([{ none: "no_values" }, { none: "late" }, { none: "busy" }, { none: "failed" }])(
    "goes out without where there is none (%o)",
    async (result) => {
      const { send, read } = await open(async () => result);
      expect(await send()).toMatchObject({ kind: "sent" });
      expect((await read()).html?.trim()).toBe(messageWith(false).html);
    },
  );

  it("goes out without when drawing breaks its word and throws", async () => {
    const { send, read } = await open(() => Promise.reject(new Error("a defect")));
    expect(await send()).toMatchObject({ kind: "sent" });
    expect((await read()).attachments).toEqual([]);
  });
});

describe("waiting for the picture of a mail", () => {
  /** Each drawing waits until the test ends it. */
  function hanging() {
    const waiting: ((result: AlertPictureResult) => void)[] = [];
    const draw: DrawAlertPicture = () => new Promise((resolve) => waiting.push(resolve));
    return { waiting, draw };
  }

  it("holds no more than two mails at a time; others go by", async () => {
    const { waiting, draw } = hanging();
    const { send, server } = await open(draw);
    const [first, second] = [send(messageWith(), { deliveryId: "d1" }), send(messageWith(), { deliveryId: "d2" })];
    expect(await send(messageWith(), { deliveryId: "d3" })).toMatchObject({ kind: "sent" });
    expect(server.mails).toHaveLength(1);
    for (const finish of waiting.splice(0)) finish({ none: "late" });
    expect(await Promise.all([first, second])).toMatchObject([{ kind: "sent" }, { kind: "sent" }]);
    expect(server.mails).toHaveLength(3);
  });

  it("ends for some minutes after two that were late, or slow, in a row", async () => {
    for (const slow of ["late", "slow"]) {
      let asked = 0;
      const { send, clock } = await open(async () => {
        asked += 1;
        if (slow === "late") return { none: "late" };
        await clock.jump(1_100);
        return drawn;
      });
      await send();
      await send();
      await send();
      expect(asked).toBe(2);
      await clock.jump(5 * minute - 1);
      await send();
      expect(asked).toBe(2);
      await clock.jump(1);
      await send();
      expect(asked).toBe(3);
    }
  });

  it("goes on after one that was late and one that was not", async () => {
    const results: AlertPictureResult[] = [{ none: "late" }, drawn, { none: "late" }, drawn, { none: "late" }];
    let asked = 0;
    const { send } = await open(async () => results[asked++] ?? drawn);
    for (let n = 0; n < 6; n += 1) await send();
    expect(asked).toBe(6);
  });

  it("is for a few mails a minute: a flood gets none", async () => {
    let asked = 0;
    const { send, clock } = await open(async () => {
      asked += 1;
      return drawn;
    });
    for (let n = 0; n < 30; n += 1) await send();
    expect(asked).toBe(20);
    await clock.jump(minute);
    await send();
    expect(asked).toBe(21);
  });
});
