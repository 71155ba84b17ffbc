import { expect, it } from "vitest";
import { createJourneyWorld, waitForState } from "../support/journey-world.ts";
import { adminToken, type RelayProcess, waitUntil, webhookSecret } from "../support/relay-process.ts";
import {
  createNtfyVendor,
  createSlackVendor,
  type NtfyVendor,
  type SlackVendor,
} from "../support/vendors/app-vendors.ts";
import { parseObject } from "../support/vendors/http-vendor.ts";

const publicUrl = "https://tocsin.invalid";

async function openWorld() {
  const [ntfy, slack, plain] = await Promise.all([createNtfyVendor(), createSlackVendor(), createSlackVendor()]);
  const yaml = `
destinations:
  phone: { type: ntfy, server: "${ntfy.origin}", topic: ${ntfy.topic}, token: "\${NTFY_TOKEN}", allowInternal: [127.0.0.1] }
  desk: { type: slack, url: "\${SLACK_URL}", allowInternal: [127.0.0.1] }
  plain: { type: slack, url: "\${PLAIN_URL}", allowInternal: [127.0.0.1], chart: false }
routes:
  - { name: all, to: [phone, desk, plain], updates: new }
`;
  const world = await createJourneyWorld({ yaml });
  const urlOf = ({ origin, path }: SlackVendor) => `${origin}${path}`;
  Object.assign(world.env, { NTFY_TOKEN: ntfy.token, SLACK_URL: urlOf(slack), PLAIN_URL: urlOf(plain) });
  return { ntfy, slack, plain, world };
}

async function send(relay: RelayProcess, value: number): Promise<string> {
  const alert = { title: "Health factor fell", severity: "critical", status: "firing", value, threshold: 5_000_000 };
  const { ids } = await relay.post(JSON.stringify(alert));
  await waitForState(relay, ids[0] ?? "", "sent");
  return ids[0] ?? "";
}

/** The addresses of pictures in what each of them was sent, in that order. */
const addressesIn = ({ requests }: NtfyVendor | SlackVendor): (string | undefined)[] =>
  requests.map(({ body }) => {
    const { attach, blocks } = parseObject(body) ?? {};
    if (!Array.isArray(blocks)) return attach as string | undefined;
    return (blocks as { type: string; image_url?: string }[]).find(({ type }) => type === "image")?.image_url;
  });

it("the address of a picture shows it to nobody but who has the message, and is in none where it is not wanted or without https", async () => {
  const { ntfy, slack, plain, world } = await openWorld();
  const relay = await world.start({ PUBLIC_URL: publicUrl });
  await send(relay, 4_900_000);
  const id = await send(relay, 4_800_000);
  const notes = async () => {
    const { data } = await relay.getJson<{ data: { deliveries: { picture?: { result: string } }[] } }>(
      `/api/alerts/${id}`,
    );
    return data.deliveries.map(({ picture }) => picture?.result);
  };
  expect(await notes()).toEqual(["linked", "linked", undefined]);
  for (const vendor of [ntfy, slack]) {
    const [first, address = ""] = addressesIn(vendor);
    expect(first).toBeUndefined();
    expect(address).toMatch(/^https:\/\/tocsin\.invalid\/pictures\/[\w.-]+\.png$/);
    for (const secret of [adminToken, webhookSecret]) expect(address).not.toContain(secret);
    const local = address.replace(publicUrl, relay.url);
    const answer = await waitUntil(
      () => fetch(local),
      ({ status }) => status !== 503,
      "the picture",
    );
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "image/png"]);
    const png = new DataView(await answer.arrayBuffer());
    expect([png.getUint32(0), png.getUint32(16)]).toEqual([0x89504e47, 720]);
    expect(png.byteLength).toBeLessThan(60_000);
    expect((await fetch(local.replace(/\.png$/, "x.png"))).status).toBe(404);
    if (vendor === ntfy) expect((await notes()).sort()).toEqual(["fetched", "linked", undefined]);
  }
  expect(await notes()).toEqual(["fetched", "fetched", undefined]);
  expect(relay.log()).not.toContain("/pictures/");
  expect(await relay.stop()).toBe(0);

  const unsafe = await world.start({ PUBLIC_URL: "http://tocsin.invalid" });
  await send(unsafe, 4_700_000);
  for (const vendor of [ntfy, slack, plain]) expect(addressesIn(vendor).at(-1)).toBeUndefined();
  expect(addressesIn(plain)).toEqual([undefined, undefined, undefined]);
  expect(await unsafe.stop()).toBe(0);
});
