import PostalMime from "postal-mime";
import { describe, expect, it } from "vitest";
import type { AlertPictureResult, DrawAlertPicture } from "../../src/core/ports/alert-picture.ts";
import { createPatience } from "../../src/vendors/email/patience.ts";
import type { EmailMessage } from "../../src/vendors/email/render.tsx";
import { fullFacts, makeAlert, makeContext, publicUrl } from "../rendering/sample.ts";
import { pngOf } from "../support/png.ts";
import { createRendering } from "../support/rendering.ts";
import { sendContext } from "../support/send-context.ts";
import { createTestClock } from "../support/test-clock.ts";
import { startMail } from "./email-fixture.ts";

const png = pngOf(720, 700);
const drawn = { png, alt: `USDC "TVL": 4.81 M USD <b>` };
const minute = 60_000;

const rendering = createRendering({ publicUrl });
const document = rendering.composeAlert(makeAlert({ facts: fullFacts }), makeContext());
function messageOf(form: "rich" | "plain", picture?: { alt: string }) {
  return rendering.renderDocument("email", document, { form, timeZone: "Europe/Zurich", picture })[0] as EmailMessage;
}
const pictured = messageOf("rich", { alt: "Value over time" });
const bare = messageOf("rich");

async function open(draw?: DrawAlertPicture) {
  const clock = createTestClock();
  const { server, send } = await startMail({ waitForPicture: draw && createPatience(draw, clock.now) });
  const { alertId } = sendContext();
  return {
    server,
    clock,
    send: (message = pictured, deliveryId = "d1") => send({ alertId, deliveryId }, message),
    read: async () => ({ ...(await PostalMime.parse(server.mails[0] ?? "")), source: String(server.mails[0]) }),
  };
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
    expect(new Uint8Array(mail.attachments[0]?.content as ArrayBuffer)).toEqual(png);
    const image = /<img [^>]*>/.exec(mail.html ?? "")?.[0] ?? "";
    expect(image).toContain('src="cid:chart@tocsin"');
    expect(image).toContain('alt="USDC &quot;TVL&quot;: 4.81 M USD &lt;b&gt;"');
    expect(image).toContain('width="360"');
    expect(mail.html?.replace(/<p [^>]*><img [^>]*><\/p>/, "").trim()).toBe(pictured.html);
    expect(mail.source).toMatch(
      /multipart\/alternative[\s\S]*text\/plain[\s\S]*multipart\/related[\s\S]*text\/html[\s\S]*image\/png/,
    );
  });

  it("says in its text what it says without", async () => {
    const [one, other] = [await open(async () => drawn), await open()];
    await one.send();
    await other.send();
    expect((await one.read()).text).toBe((await other.read()).text);
    expect(pictured.html).toBe(bare.html);
    expect((await other.read()).attachments).toEqual([]);
  });

  it("has none in its plain form, which is for what was refused", async () => {
    const { send, read } = await open(async () => drawn);
    await send(messageOf("plain", { alt: "Value over time" }));
    expect((await read()).attachments).toEqual([]);
  });

  it.each<[string, DrawAlertPicture]>([
    ["none", async () => ({ none: "no_values" })],
    ["none in time", async () => ({ none: "late" })],
    ["a defect", () => Promise.reject(new Error("a defect"))],
  ])("goes out without where drawing gives %s", async (_what, draw) => {
    const { send, read } = await open(draw);
    expect(await send()).toMatchObject({ kind: "sent" });
    expect((await read()).html?.trim()).toBe(bare.html);
  });
});

describe("waiting for the picture of a mail", () => {
  /** Draws by this answer; says how many pictures were asked for. */
  async function openCounting(answer: (count: number) => AlertPictureResult | Promise<AlertPictureResult>) {
    let asked = 0;
    const scene = await open(async () => answer(asked++));
    const sendMany = async (count: number) => {
      for (let n = 0; n < count; n += 1) await scene.send();
      return asked;
    };
    return { ...scene, sendMany };
  }

  it("holds no more than two mails at a time; others go by", async () => {
    const waiting: ((result: AlertPictureResult) => void)[] = [];
    const { send, server } = await open(() => new Promise((resolve) => waiting.push(resolve)));
    const held = [send(pictured, "d1"), send(pictured, "d2")];
    expect(await send(pictured, "d3")).toMatchObject({ kind: "sent" });
    expect(server.mails).toHaveLength(1);
    for (const finish of waiting) finish({ none: "late" });
    expect(await Promise.all(held)).toMatchObject([{ kind: "sent" }, { kind: "sent" }]);
    expect(server.mails).toHaveLength(3);
  });

  it.each(["late", "slow"])("ends for some minutes after two in a row that were %s", async (how) => {
    const { sendMany, clock } = await openCounting(async () => {
      if (how === "late") return { none: "late" };
      await clock.jump(1_100);
      return drawn;
    });
    expect(await sendMany(3)).toBe(2);
    await clock.jump(5 * minute - 1);
    expect(await sendMany(1)).toBe(2);
    await clock.jump(1);
    expect(await sendMany(1)).toBe(3);
  });

  it("goes on after one that was late and one that was not", async () => {
    const { sendMany } = await openCounting((count) => (count % 2 === 0 ? { none: "late" } : drawn));
    expect(await sendMany(6)).toBe(6);
  });

  it("is for a few mails a minute: a flood gets none", async () => {
    const { sendMany, clock } = await openCounting(() => drawn);
    expect(await sendMany(30)).toBe(20);
    await clock.jump(minute);
    expect(await sendMany(1)).toBe(21);
  });
});
